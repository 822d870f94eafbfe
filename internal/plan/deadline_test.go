package plan

import (
	"testing"
	"time"
)

func TestADeadlineIsTheNextTimeOfDayOrADuration(t *testing.T) {
	berlin, err := time.LoadLocation("Europe/Berlin")
	if err != nil {
		t.Fatal(err)
	}
	at := func(s string) time.Time {
		v, err := time.ParseInLocation("2006-01-02 15:04", s, berlin)
		if err != nil {
			t.Fatal(err)
		}
		return v
	}
	for _, c := range []struct{ now, deadline, want string }{
		{"2026-01-10 23:00", "07:30", "2026-01-11 07:30"},
		{"2026-01-10 07:00", "07:30", "2026-01-10 07:30"},
		{"2026-01-10 07:30", "7:30", "2026-01-11 07:30"},
		{"2026-12-31 23:00", "00:05", "2027-01-01 00:05"},
		{"2026-01-10 23:00", "8h", "2026-01-11 07:00"},
		{"2026-03-28 23:00", "8h", "2026-03-29 08:00"},    // an hour is lost in that night
		{"2026-10-24 23:00", "07:30", "2026-10-25 07:30"}, // and won in this one
		{"2026-03-28 23:00", "02:30", "2026-03-29 03:30"}, // a time that the clock leaves out
	} {
		got, err := ParseDeadline(c.deadline, at(c.now))
		if err != nil || !got.Equal(at(c.want)) {
			t.Errorf("%s at %s: %v, %v", c.deadline, c.now, got, err)
		}
	}
	// In the autumn night half past one comes twice. A deadline that is the second one may be the next night's, never the first.
	newYork, err := time.LoadLocation("America/New_York")
	if err != nil {
		t.Fatal(err)
	}
	first := time.Date(2026, 11, 1, 5, 30, 0, 0, time.UTC).In(newYork)
	for _, after := range []time.Duration{-45 * time.Minute, -15 * time.Minute, 15 * time.Minute, 45 * time.Minute, 75 * time.Minute} {
		now := first.Add(after)
		got, err := ParseDeadline("01:30", now)
		if err != nil || !got.After(now) || got.Sub(now) > 25*time.Hour || got.Format("15:04") != "01:30" {
			t.Errorf("01:30 at %s: %v, %v", now, got, err)
		}
	}
	for _, bad := range []string{"", "24:00", "7", "7:60", "-1h", "0s", "morning", "07:30:00"} {
		if got, err := ParseDeadline(bad, at("2026-01-10 23:00")); err == nil {
			t.Errorf("%q: %v", bad, got)
		}
	}
}
