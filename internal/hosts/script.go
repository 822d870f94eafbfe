package hosts

import (
	"fmt"
	"path/filepath"
	"strings"
)

// markerName is the variable that everything a job starts carries, with its job directory as value.
const markerName = "XRUN_MARKER"

// Quote makes one word of a POSIX shell out of any string without NUL.
func Quote(s string) string {
	return "'" + strings.ReplaceAll(s, "'", `'\''`) + "'"
}

// envDescriptor is where the script reads the environment from. The file has no name any more by then. Nine is the
// highest that every sh knows, and the one a prelude is least likely to use.
const envDescriptor = 9

// jobScript is what a job runs. The order makes that later wins: inherited environment, prelude, env.
func jobScript(d jobDir, controller string, prelude []string, hasEnv bool, argv []string) []byte {
	return script(d.file(dirTree), controller, prelude, hasEnv, argv)
}

// script is that of a job or of a step of it, which runs in dir.
func script(dir, controller string, prelude []string, hasEnv bool, argv []string) []byte {
	var b strings.Builder
	fmt.Fprintf(&b, "#!/bin/sh\n# controller %s\n", controller)
	fmt.Fprintf(&b, "cd %s || exit 126\n", Quote(dir))
	for _, line := range prelude {
		b.WriteString(line)
		b.WriteByte('\n')
	}
	if hasEnv {
		fmt.Fprintf(&b, ". /dev/fd/%d\nexec %d<&-\n", envDescriptor, envDescriptor)
	}
	if !strings.HasPrefix(argv[0], "-") { // nothing of it costs a process
		fmt.Fprintf(&b, "command -v %s >/dev/null 2>&1 || printf %%s \"$PATH\" 2>/dev/null >%s\n", Quote(argv[0]), Quote(filepath.Dir(dir)+"/"+filePath))
	}
	b.WriteString("exec")
	if strings.HasPrefix(argv[0], "-") {
		b.WriteString(" --") // only here: older dashes take it for the command
	}
	for _, a := range argv {
		b.WriteByte(' ')
		b.WriteString(Quote(a))
	}
	b.WriteByte('\n')
	return []byte(b.String())
}

// envScript is what the script sources: values survive every byte but NUL.
func envScript(lists ...[]string) ([]byte, error) {
	var b strings.Builder
	for _, list := range lists {
		for _, nv := range list {
			name, value, ok := strings.Cut(nv, "=")
			if !ok || !shellName(name) {
				return nil, fmt.Errorf("variable %q: its name is not one that a shell can export", name)
			}
			if strings.ContainsRune(value, 0) {
				return nil, fmt.Errorf("variable %s holds a NUL byte", name)
			}
			fmt.Fprintf(&b, "export %s=%s\n", name, Quote(value))
		}
	}
	return []byte(b.String()), nil
}

func shellName(s string) bool {
	for i := range len(s) {
		c := s[i]
		letter := c == '_' || 'a' <= c && c <= 'z' || 'A' <= c && c <= 'Z'
		if !letter && (i == 0 || c < '0' || c > '9') {
			return false
		}
	}
	return s != ""
}

// checkArgv refuses what no program can be given.
func checkArgv(argv []string) error {
	if len(argv) == 0 {
		return fmt.Errorf("no command")
	}
	for i, a := range argv {
		if strings.ContainsRune(a, 0) {
			return fmt.Errorf("argument %d holds a NUL byte", i)
		}
	}
	return nil
}

// controllerOf reads from a script whose queue its job stood in.
func controllerOf(script []byte) string {
	for line := range strings.Lines(string(script)) {
		if name, ok := strings.CutPrefix(line, "# controller "); ok {
			return strings.TrimSuffix(name, "\n")
		}
	}
	return ""
}
