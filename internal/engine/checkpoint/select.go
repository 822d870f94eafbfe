package checkpoint

// Select lists the files of m that one of the globs names, as those of a Selection do, and the globs that name no file.
func (m *Manifest) Select(globs []string) (files []File, none []string, err error) {
	found := make([]bool, len(globs))
	patterns := make([]pattern, len(globs))
	for i, g := range globs {
		if patterns[i], err = compile(g); err != nil {
			return nil, nil, err
		}
	}
	for _, f := range m.Files {
		named := false
		for i, p := range patterns {
			if p.matchBelow(f.Path) {
				named, found[i] = true, true
			}
		}
		if named {
			files = append(files, f)
		}
	}
	for i, g := range globs {
		if !found[i] {
			none = append(none, g)
		}
	}
	return files, none, nil
}
