package plan

import "reflect"

// metrics checks further numbers against themselves and against the objective.
func (c *checker) metrics(e *Experiment) {
	for _, name := range sortedKeys(e.Metrics) {
		m := e.Metrics[name]
		if m.AtLeast != nil && m.AtMost != nil && m.AtLeast.rat().Cmp(m.AtMost.rat()) > 0 {
			c.add([]string{"metrics", name, "at_least"}, "", "at_least %s is above at_most %s: no value is within", m.AtLeast, m.AtMost)
		}
		if name != e.Objective.Metric {
			continue
		}
		// One name has one value in a report, and the objective's counts.
		if e.Set["metrics."+name+".pick"] && m.Pick != e.Objective.Pick {
			c.add([]string{"metrics", name, "pick"}, "say it in objective, or leave it out here", "%s is the objective, which takes the %s value, and not the %s", name, e.Objective.Pick, m.Pick)
		}
		if m.From != nil && !reflect.DeepEqual(m.From, e.Objective.From) {
			c.add([]string{"metrics", name, "from"}, "say it in objective, or leave it out here", "%s is the objective, which is read elsewhere", name)
		}
	}
}
