package work_test

import (
	"fmt"
	"slices"
	"strconv"
	"strings"

	"pws/internal/id"
	"pws/work"
)

// artifactCommand reads the words of a line about artifacts and imports; nil for other
// commands.
func (s *script) artifactCommand(who id.ID, words []string) work.Command {
	switch words[0] {
	case "artifact":
		return s.artifact(words[1:])
	case "import":
		return s.importing(s.offered(who, words[1]), words[2:])
	case "import-files":
		return s.importing(&work.ImportArtifact{Source: s.offer(words[1:])}, words[1:])
	}
	return nil
}

// artifact reads a name, a type, paths that commas part, or - for none, and options: at, license,
// reuse, size.
func (s *script) artifact(words []string) work.Command {
	command := &work.CreateArtifact{
		Name: words[0], Type: work.ParseArtifactType(words[1]), Paths: strings.Split(words[2], ","),
	}
	if words[2] == "-" {
		command.Paths = nil
	}
	if word, given := option(words, "at"); given {
		at := agent("no changeset")
		if c := s.changeset(word); c != nil {
			at = c.ID
		}
		command.Changeset = &at
	}
	command.License, _ = option(words, "license")
	if word, given := option(words, "reuse"); given {
		command.Reuse = work.ParseReuse(word)
	}
	if word, given := option(words, "size"); given {
		command.Description = sized(word)
	}
	return command
}

// offered is an import of the nth artifact of the project itself; another word is an artifact that
// is not there.
func (s *script) offered(who id.ID, word string) *work.ImportArtifact {
	command := &work.ImportArtifact{Refusal: work.EntityArtifact.Missing()}
	if a, ok := s.project.Artifact(s.artifactID(word)); ok {
		command.Source, command.Refusal = s.project.ImportSource(a, who)
	}
	return command
}

// offer makes up what another project offers: paths with contents.
func (s *script) offer(words []string) *work.ImportSource {
	offer := &work.ImportSource{
		Artifact: agent("artifact"), Project: agent("elsewhere"), Changeset: agent("changeset"),
		Name: "lib", License: "ISC", Authors: []id.ID{agent("far")},
	}
	for _, word := range words {
		path, content, found := strings.Cut(word, "=")
		if found && content[0] == '"' {
			offer.Files = append(offer.Files, work.FileInfo{
				Path: path, Blob: s.content(content).Hash, Size: len(content) - 2,
				ContentType: "text/plain",
			})
		}
	}
	if word, given := option(words, "many"); given {
		count, _ := strconv.Atoi(word)
		for i := range count {
			offer.Files = append(offer.Files, work.FileInfo{
				Path: fmt.Sprint("new/", i), Blob: s.content(`"n"`).Hash, Size: 1,
				ContentType: "text/plain",
			})
		}
	}
	return offer
}

// importing reads options: into, base, replace, size for the length of the name.
func (s *script) importing(command *work.ImportArtifact, words []string) work.Command {
	command.Prefix, _ = option(words, "into")
	command.Replace = slices.Contains(words, "replace")
	if word, given := option(words, "base"); given {
		base := agent("no changeset")
		if c := s.changeset(word); c != nil {
			base = c.ID
		}
		command.Base = &base
	}
	if word, given := option(words, "size"); given {
		command.Source.Name = sized(word)
	}
	return command
}

// artifactIDs and importIDs are all of them, the newest first.
func (s *script) artifactIDs() (all []id.ID) {
	if s.project != nil {
		s.project.Artifacts(id.ID{}, func(a *work.Artifact) bool {
			all = append(all, a.ID)
			return true
		})
	}
	return all
}

func (s *script) importIDs() (all []id.ID) {
	if s.project != nil {
		s.project.Imports(id.ID{}, func(i *work.Import) bool {
			all = append(all, i.ID)
			return true
		})
	}
	return all
}

// artifactID is the nth artifact as a1, a2 and so on; another word is an ID that no project has.
func (s *script) artifactID(word string) id.ID { return nth(s.artifactIDs(), word, "a") }

// nth finds the nth of those that stand the newest first.
func nth(all []id.ID, word, letter string) id.ID {
	n, err := strconv.Atoi(strings.TrimPrefix(word, letter))
	if err != nil || n < 1 || n > len(all) {
		return agent("none")
	}
	return all[len(all)-n]
}

// artifactName names an artifact or an import; empty for other records.
func (s *script) artifactName(wanted id.ID) string {
	for letter, all := range map[string][]id.ID{"a": s.artifactIDs(), "i": s.importIDs()} {
		if at := slices.Index(all, wanted); at >= 0 {
			return fmt.Sprint(letter, len(all)-at)
		}
	}
	return ""
}

// artifactQuery answers lines about artifacts and imports that only look.
func (s *script) artifactQuery(words []string) (string, bool) {
	list := []string{}
	var before id.ID
	switch words[0] {
	case "artifacts?":
		if len(words) > 1 {
			before = s.artifactID(words[1])
		}
		s.project.Artifacts(before, func(a *work.Artifact) bool {
			list = append(list, a.Name)
			return true
		})
		return orNothing(list), true
	case "show-artifact":
		a, ok := s.project.Artifact(s.artifactID(words[1]))
		if !ok {
			return "nothing", true
		}
		return fmt.Sprintf("%s %s %v %s %s %s by=%s at=%d", a.Name, a.Type, a.Paths,
			s.number(a.Changeset), a.License, a.Reuse, name(a.CreatedBy), a.CreatedAt-testNow), true
	case "artifact-files?":
		a, _ := s.project.Artifact(s.artifactID(words[1]))
		s.project.ArtifactFiles(a, func(f work.FileInfo) bool {
			list = append(list, f.Path+"="+s.text(f.Blob))
			return len(words) == 2 || len(list) < 2
		})
		return orNothing(list), true
	case "imports?":
		if len(words) > 1 {
			before = nth(s.importIDs(), words[1], "i")
		}
		s.project.Imports(before, func(i *work.Import) bool {
			list = append(list, s.artifactName(i.ID))
			return true
		})
		return orNothing(list), true
	case "show-import":
		one, ok := s.project.Import(nth(s.importIDs(), words[1], "i"))
		if !ok {
			return "nothing", true
		}
		return s.showImport(one), true
	case "fill-artifacts":
		count, _ := strconv.Atoi(words[1])
		return s.repeat(count, func() work.Command { return s.artifact(words[2:]) }), true
	case "fill-imports":
		return s.fillImports(words[1:]), true
	}
	return "", false
}

func (s *script) showImport(one *work.Import) string {
	authors := []string{}
	for _, author := range one.Authors {
		authors = append(authors, name(author))
	}
	source := s.artifactName(one.Artifact)
	if source == "" {
		source = name(one.Source)
	}
	return fmt.Sprintf("%s %s %q %s files=%d %s of=%s by=%s at=%d", one.Name, source, one.Prefix,
		s.number(one.Changeset), one.Files, one.License, strings.Join(authors, ","),
		name(one.CreatedBy), one.CreatedAt-testNow)
}

// fillImports imports so often, always another content; of many files where that is said.
func (s *script) fillImports(words []string) string {
	count, _ := strconv.Atoi(words[0])
	n := 0
	return s.repeat(count, func() work.Command {
		n++
		offer := s.offer(words[1:])
		for i := range offer.Files {
			offer.Files[i].Blob = s.content(fmt.Sprintf(`"%d"`, n)).Hash
		}
		return &work.ImportArtifact{Source: offer, Replace: true}
	})
}
