package gitlog

// build builds the log from the commits of a walk, newest first.
func (l *Log) build(s *store, live []int32) {
	l.store = s
	b := builder{l: l, s: s}
	l.alias = make([]FileID, len(s.paths))
	l.commits = make([]int32, 0, len(live))
	l.fileAt = make([]uint32, 1, len(live)+1)
	for _, c := range live {
		b.commit(c)
	}
	b.join()
	l.status.Commits, l.status.Files = len(l.commits), len(l.files)
}

// builder follows files from their newest name back to older ones.
type builder struct {
	l *Log
	s *store
	// same maps each file to an older file number that turned out to be the same file, plus one.
	same []FileID
	// added marks files that a commit created, so that older mentions of the path mean a different
	// file.
	added []bool
}

// outside stands for all files outside the directory that was opened.
const outside = ^FileID(0)

// commit handles a commit. Merges that do not count are examined too: a file that was renamed or
// removed on the merged branch no longer exists at the head, even if later commits of this branch
// mention it.
func (b *builder) commit(c int32) {
	l, e := b.l, &b.s.commits[c]
	counts := l.opts.Merges != WithoutMerges || !e.merge()
	votes := counts && int(e.files) <= l.opts.MaxFiles
	b.s.eachChange(e, func(kind int, path, from uint32) {
		if !votes && kind != changeRename && kind != changeDelete {
			return
		}
		f := b.file(path, kind)
		if kind == changeRename {
			b.renamed(f, from)
		}
		if votes && f != outside {
			l.filesOf = append(l.filesOf, f)
		}
	})
	if counts {
		l.commits = append(l.commits, c)
		l.fileAt = append(l.fileAt, uint32(len(l.filesOf)))
	}
}

// file returns the number of the file that had a path at a commit. All newer commits must have been
// handled before.
func (b *builder) file(path uint32, kind int) FileID {
	l := b.l
	f := l.alias[path] - 1
	if l.alias[path] == 0 {
		name, ok := l.local(b.s.paths[path])
		if !ok {
			return outside
		}
		f = FileID(len(l.files))
		l.files = append(l.files, name)
		l.deleted = append(l.deleted, kind == changeDelete)
		b.same = append(b.same, 0)
		b.added = append(b.added, false)
		l.alias[path] = f + 1
	}
	if kind == changeAdd {
		b.added[f] = true
	}
	return f
}

// renamed assigns older mentions of a path to a file.
func (b *builder) renamed(f FileID, from uint32) {
	if f == outside {
		return // the file was moved out of the directory: in the directory its earlier path no longer exists
	}
	// A branch without the rename may have kept the old name, with commits newer than the rename.
	if g := b.l.alias[from]; g > 0 && g-1 != f && !b.added[g-1] && !b.l.deleted[g-1] && b.root(g-1) != b.root(f) {
		b.same[b.root(g-1)] = b.root(f) + 1
	}
	b.l.alias[from] = f + 1
}

func (b *builder) root(f FileID) FileID {
	for b.same[f] > 0 {
		f = b.same[f] - 1
	}
	return f
}

// join merges files that turned out to be the same, and renumbers the files without gaps.
func (b *builder) join() {
	l := b.l
	number := make([]FileID, len(l.files))
	n := FileID(0)
	for f := range l.files {
		if b.same[f] == 0 {
			number[f] = n
			l.files[n], l.deleted[n] = l.files[f], l.deleted[f]
			n++
		}
	}
	if int(n) == len(l.files) {
		return
	}
	for f := range number {
		number[f] = number[b.root(FileID(f))]
	}
	l.files, l.deleted = l.files[:n], l.deleted[:n]
	for i, f := range l.filesOf {
		l.filesOf[i] = number[f]
	}
	for p, a := range l.alias {
		if a > 0 {
			l.alias[p] = number[a-1] + 1
		}
	}
}
