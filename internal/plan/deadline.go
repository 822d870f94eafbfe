package plan

import (
	"fmt"
	"regexp"
	"strconv"
	"time"
)

var clockRE = regexp.MustCompile(`^([01]?[0-9]|2[0-3]):([0-5][0-9])$`)

// ParseDeadline reads a time of day ("07:30", the next one after now, on the clock of now's location) or a duration
// ("8h", from now).
func ParseDeadline(s string, now time.Time) (time.Time, error) {
	if m := clockRE.FindStringSubmatch(s); m != nil {
		hour, _ := strconv.Atoi(m[1])
		minute, _ := strconv.Atoi(m[2])
		for day := 0; ; day++ {
			at := time.Date(now.Year(), now.Month(), now.Day()+day, hour, minute, 0, 0, now.Location())
			if at.After(now) {
				return at, nil
			}
		}
	}
	d, err := time.ParseDuration(s)
	if err != nil || d <= 0 {
		return time.Time{}, fmt.Errorf("deadline %q is neither a time of day like 07:30 nor a duration like 8h", s)
	}
	return now.Add(d), nil
}
