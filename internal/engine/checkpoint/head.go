package checkpoint

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"regexp"
	"slices"
	"strings"

	"github.com/go-git/go-git/v5/plumbing"
	"github.com/go-git/go-git/v5/plumbing/filemode"
	"github.com/go-git/go-git/v5/plumbing/object"
	"github.com/go-git/go-git/v5/plumbing/storer"
	"github.com/go-git/go-git/v5/storage/filesystem"
)

// An entry is a file as a commit has it.
type entry struct {
	mode string
	id   string              // of the blob, in hex: sha1, or sha256 in a repository of that format
	repo *filesystem.Storage // to look into the blob; nil if go-git cannot read it
}

// A head is what HEAD of a repository holds below the listed directory, by path in the code.
type head struct {
	commit  string
	entries map[string]entry
}

// readHead reads the commit of a level: by go-git, and by git's plumbing where go-git cannot (reftable, sha256). A
// repository without a commit is an empty head.
func readHead(ctx context.Context, l level) (head, error) {
	h, err := libraryHead(l)
	if err == nil {
		return h, nil
	}
	fallback, perr := programHead(ctx, l)
	if perr != nil {
		if h.commit == "" {
			h.commit = fallback.commit
		}
		return h, fmt.Errorf("read HEAD of %s: %w", l.root, errors.Join(err, perr))
	}
	return fallback, nil
}

func libraryHead(l level) (head, error) {
	h := head{entries: map[string]entry{}}
	repo, err := openRepo(l.root)
	if err != nil {
		return h, err
	}
	ref, err := storer.ResolveReference(repo, plumbing.HEAD)
	if errors.Is(err, plumbing.ErrReferenceNotFound) {
		return h, nil // before the first commit
	}
	if err != nil {
		return h, err
	}
	h.commit = ref.Hash().String()
	commit, err := object.GetCommit(repo, ref.Hash())
	if err != nil {
		return h, err
	}
	tree, err := commit.Tree()
	if err != nil {
		return h, err
	}
	prefix, err := prefixOf(l.root, l.dir)
	if err != nil {
		return h, err
	}
	for element := range strings.SplitSeq(strings.TrimSuffix(prefix, "/"), "/") {
		if element == "" {
			break
		}
		at := slices.IndexFunc(tree.Entries, func(e object.TreeEntry) bool {
			return e.Name == element && e.Mode == filemode.Dir
		})
		if at < 0 {
			return h, nil // not in that commit at all
		}
		if tree, err = object.GetTree(repo, tree.Entries[at].Hash); err != nil {
			return h, err
		}
	}
	return h, h.add(repo, tree, l.at)
}

// add takes the files of a tree. go-git's own TreeWalker refuses names that git and Linux allow.
func (h head) add(repo *filesystem.Storage, tree *object.Tree, at string) error {
	for _, e := range tree.Entries {
		if e.Mode != filemode.Dir {
			h.entries[at+e.Name] = entry{mode: fmt.Sprintf("%06o", uint32(e.Mode)), id: e.Hash.String(), repo: repo}
			continue
		}
		below, err := object.GetTree(repo, e.Hash)
		if err != nil {
			return err
		}
		if err := h.add(repo, below, at+e.Name+"/"); err != nil {
			return err
		}
	}
	return nil
}

func programHead(ctx context.Context, l level) (head, error) {
	h := head{entries: map[string]entry{}}
	commit, err := runGit(ctx, l.root, l.dir, "rev-parse", "--verify", "--quiet", "HEAD^{commit}")
	if err != nil {
		if _, err2 := runGit(ctx, l.root, l.dir, "symbolic-ref", "--quiet", "HEAD"); err2 == nil {
			return h, nil // before the first commit
		}
		return h, err
	}
	h.commit = strings.TrimSpace(string(commit))
	tree, err := runGit(ctx, l.root, l.dir, "ls-tree", "-r", "-z", h.commit)
	if err != nil {
		return h, err
	}
	for rec := range bytes.SplitSeq(tree, []byte{0}) {
		info, name, ok := strings.Cut(string(rec), "\t")
		if fields := strings.Fields(info); ok && len(fields) == 3 {
			h.entries[l.at+name] = entry{mode: fields[0], id: fields[2]}
		}
	}
	return h, nil
}

var lfsOID = regexp.MustCompile(`(?m)^oid sha256:([0-9a-f]{64})$`)

const lfsMagic = "version https://git-lfs.github.com/spec/"

// lfsBytes reports whether the commit holds a git-lfs pointer to exactly the bytes of this sha256.
func (e entry) lfsBytes(sha256 string) bool {
	if e.repo == nil {
		return false
	}
	blob, err := object.GetBlob(e.repo, plumbing.NewHash(e.id))
	if err != nil || blob.Size > maxPointer {
		return false
	}
	r, err := blob.Reader()
	if err != nil {
		return false
	}
	defer r.Close()
	b, err := io.ReadAll(r)
	if err != nil || !bytes.HasPrefix(b, []byte(lfsMagic)) {
		return false
	}
	m := lfsOID.FindSubmatch(b)
	return m != nil && string(m[1]) == sha256
}

// provenance fills in Commit, and Dirty as far as it can be told without reading files.
func (s *scan) provenance(ctx context.Context) {
	s.head = map[string]entry{}
	for _, l := range s.levels {
		if l.root == "" {
			if l.link != "" {
				s.m.Dirty = true
			}
			continue
		}
		h, err := readHead(ctx, l)
		if err != nil {
			s.m.Dirty = true
			s.m.Notes = append(s.m.Notes, fmt.Sprintf("cannot tell whether the code differs from its commit: %v", err))
		}
		if l.link == "" {
			s.m.Commit = h.commit
		} else if s.head[l.link].id != h.commit {
			s.m.Dirty = true
		}
		for name, e := range h.entries {
			s.head[name] = e
		}
	}
}

// compare completes Dirty: something shipped is not in the commit as it is, or something of the commit is missing.
func (s *scan) compare() {
	if s.levels[0].root == "" {
		return
	}
	shipped := map[string]bool{}
	for i, f := range s.m.Files {
		shipped[f.Path] = true
		e, ok := s.head[f.Path]
		if !ok || e.mode != f.Mode || e.id != s.blobs[i] && !e.lfsBytes(f.SHA256) {
			s.m.Dirty = true
		}
	}
	for name, e := range s.head {
		if e.mode != gitlink && !shipped[name] && !s.sparse[name] && s.filter.ships(name) {
			s.m.Dirty = true
		}
	}
}
