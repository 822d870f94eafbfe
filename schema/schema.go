// Package schema holds the public contract between experiment files and xrun: the text of schema.cue, which is also
// the CUE package that users import as "github.com/xrun-dev/xrun/schema". It knows nothing of how the text is used.
package schema

import _ "embed"

// Package is the CUE import path of the schema; Module is the CUE module that holds it.
const (
	Package = "github.com/xrun-dev/xrun/schema"
	Module  = "github.com/xrun-dev/xrun@v0"
)

// Source is the text of schema.cue.
//
//go:embed schema.cue
var Source string
