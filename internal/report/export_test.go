package report

// BriefOf is Brief of a run that is taken for a large one.
var BriefOf = brief
