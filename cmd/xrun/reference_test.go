package main

import (
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/alecthomas/kong"
	"github.com/google/go-cmp/cmp"
)

const generated = "\n<!-- Generated from the program by a test; `just update` rewrites it. -->\n\n"

// docs/reference says what the program itself says of its commands and topics.
func TestReference(t *testing.T) {
	for name, got := range map[string]string{"commands.md": commandsReference(t), "topics.md": topicsReference()} {
		file := filepath.Join("..", "..", "docs", "reference", name)
		if os.Getenv("XRUN_UPDATE") != "" {
			if err := os.WriteFile(file, []byte(got), 0o644); err != nil {
				t.Fatal(err)
			}
		}
		want, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		if diff := cmp.Diff(string(want), got); diff != "" {
			t.Errorf("%s is not in step (`just update` rewrites it):\n%s", name, diff)
		}
	}
}

func topicsReference() string {
	var b strings.Builder
	b.WriteString("# Topics\n" + generated + "The pages of `xrun help TOPIC`.\n\n")
	for _, p := range topics() {
		fmt.Fprintf(&b, "- [%s](#%s): %s\n", p.name, p.name, p.about)
	}
	for _, p := range topics() {
		fmt.Fprintf(&b, "\n## %s\n\n```text\n%s```\n", p.name, p.text())
	}
	return b.String()
}

func commandsReference(t *testing.T) string {
	t.Helper()
	k, err := newParser(t.Context(), &app{}, &cli{}, io.Discard, io.Discard)
	if err != nil {
		t.Fatal(err)
	}
	var b strings.Builder
	b.WriteString("# Commands\n" + generated)
	b.WriteString("A PATH is a directory or file of CUE, or `./...`; the default is the current directory. A RUN is an id, the beginning of\n" +
		"one, or `last`. Results go to stdout, everything else to stderr; the exit codes are in [topics](topics.md#exit-codes).\n\n| command | |\n| --- | --- |\n")
	var commands []*kong.Node
	for _, c := range k.Model.Children {
		if !c.Hidden {
			commands = append(commands, c)
			fmt.Fprintf(&b, "| [%s](#xrun-%s) | %s |\n", c.Name, c.Name, c.Help)
		}
	}
	b.WriteString("\nCommands that are promised and not built yet are listed in [the roadmap](../roadmap.md).\n\n## Flags of every command\n\n")
	flagTable(&b, k.Model.Flags)
	for _, c := range commands {
		fmt.Fprintf(&b, "\n## xrun %s\n\n%s\n\n```text\n%s\n```\n", c.Name, c.Help, usageOf(c))
		example, rest, _ := strings.Cut(c.Detail, "\n\n")
		if lines, ok := strings.CutPrefix(example, "Example:\n"); ok {
			fmt.Fprintf(&b, "\n```sh\n%s\n```\n", strings.ReplaceAll(strings.TrimSpace(lines), "\n  ", "\n"))
		} else {
			t.Errorf("xrun %s has no example: %q", c.Name, c.Detail)
		}
		if rest != "" {
			fmt.Fprintf(&b, "\n%s\n", strings.TrimSpace(rest))
		}
		if len(c.Positional) > 0 {
			b.WriteString("\n| argument | |\n| --- | --- |\n")
			for _, p := range c.Positional {
				fmt.Fprintf(&b, "| `%s` | %s |\n", strings.ReplaceAll(p.Name, "|", `\|`), cellOf(p))
			}
		}
		if len(c.Flags) > 0 {
			b.WriteString("\n")
			flagTable(&b, c.Flags)
		}
	}
	return b.String()
}

// usageOf is the usage line, with names as people write them.
func usageOf(c *kong.Node) string {
	usage := "xrun " + c.Name
	for _, p := range c.Positional {
		name := strings.ToUpper(p.Name)
		if p.IsCumulative() {
			name += "…"
		}
		if !p.Required {
			name = "[" + name + "]"
		}
		usage += " " + name
	}
	return usage + " [flags]"
}

func flagTable(b *strings.Builder, flags []*kong.Flag) {
	b.WriteString("| flag | |\n| --- | --- |\n")
	for _, f := range flags {
		if f.Hidden {
			continue
		}
		name := "`--" + f.Name
		if !f.IsBool() {
			name += " " + strings.ReplaceAll(placeholderOf(f), "|", `\|`)
		}
		name += "`"
		if f.Short != 0 {
			name = fmt.Sprintf("`-%c`, %s", f.Short, name)
		}
		fmt.Fprintf(b, "| %s | %s |\n", name, cellOf(f.Value))
	}
}

func placeholderOf(f *kong.Flag) string {
	if f.Enum != "" {
		return strings.Trim(strings.Join(f.EnumSlice(), "|"), "|")
	}
	if f.PlaceHolder != "" {
		return f.PlaceHolder
	}
	return strings.ToUpper(f.Name)
}

// cellOf is what a flag or argument is for, with its default and the variable that sets it.
func cellOf(v *kong.Value) string {
	text := strings.ReplaceAll(v.Help, "|", `\|`)
	if v.HasDefault && v.Default != "" {
		text += " Default `" + v.Default + "`."
	}
	for _, name := range v.Tag.Envs {
		text += " Also `" + name + "`."
	}
	return text
}
