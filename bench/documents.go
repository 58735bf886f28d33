package bench

import (
	"context"
	"fmt"
	"math/rand/v2"
	"strings"

	"pws/bench/client"
)

const (
	// documentsPerProject includes the project itself.
	documentsPerProject = 250
	// filesPerChangeset bounds the files in a changeset, so that few requests create a project's
	// files.
	filesPerChangeset = 50
	// vocabulary is the number of different words in the texts; everyWord is in each text.
	vocabulary = 3600
	everyWord  = "service"
	// rareDocuments is about the number of documents with the same rare word.
	rareDocuments = 5
)

// word returns the word of a rank. No two are equal, and some share a prefix.
func word(rank int) string {
	syllable := func(n int) string {
		const consonants, vowels = "bdfgklmnprst", "aeiou"
		return consonants[n%12:n%12+1] + vowels[n/12%5:n/12%5+1]
	}
	return syllable(rank) + syllable(rank*7+3) + syllable(rank/60)
}

// ordinary is the rank of a word that is neither in most texts nor rare.
func ordinary(number int) int { return 40 + number*13%160 }

// rareWord is a word that a document shares with its neighbours only.
func rareWord(document int) string { return fmt.Sprintf("quartz%06d", document/rareDocuments) }

// documents generates texts with a word distribution like natural language: few words are frequent
// and many are rare.
type documents struct {
	dice *rand.Rand
	rank *rand.Zipf
}

func newDocuments(seed int) *documents {
	dice := rand.New(rand.NewPCG(uint64(seed), 7))
	return &documents{dice, rand.NewZipf(dice, 1.1, 8, vocabulary-1)}
}

// text returns the text of the document with this number, of about so many words.
func (d *documents) text(number, words int) string {
	var out strings.Builder
	for i := range words/2 + d.dice.IntN(words) {
		out.WriteString(word(int(d.rank.Uint64())))
		switch {
		case i == words/4:
			out.WriteString(" " + everyWord + " " + rareWord(number) + " ")
		case i%12 == 11:
			out.WriteString(".\n")
		default:
			out.WriteByte(' ')
		}
	}
	return out.String()
}

// fillDocuments creates documents: PUBLIC projects, files, tasks and handoffs.
func (s *server) fillDocuments(ctx context.Context, count int) (int, error) {
	projects := (count + documentsPerProject - 1) / documentsPerProject
	err := s.each(ctx, projects, func(api *client.API, at int) error {
		from := at * documentsPerProject
		return fillProjectOfDocuments(api, from, min(from+documentsPerProject, count))
	})
	return count, err
}

// fillProjectOfDocuments creates the project with the number from, and the documents after it.
func fillProjectOfDocuments(api *client.API, from, to int) error {
	texts := newDocuments(from)
	project, err := api.CreatePublicProject(everyWord + " " + rareWord(from) + " " + word(from%60))
	if err != nil {
		return err
	}
	path := projectPath(project.ID)
	var files []fillOperation
	var tasks []map[string]any
	for number := from + 1; number < to; number++ {
		switch number % 5 {
		case 0:
			_, err = api.Post(path+"/handoffs", client.RandomKey(), map[string]any{
				"summary": texts.text(number, 60), "next_actions": []string{texts.text(number, 20)},
			}, nil)
		case 1:
			tasks = append(tasks, map[string]any{"create": map[string]any{
				"title":       fmt.Sprintf("Task %d %s", number, word(number%vocabulary)),
				"description": texts.text(number, 80),
			}})
		default:
			files = append(files, fillOperation{
				Action: "CREATE", Content: texts.text(number, 200),
				Path: fmt.Sprintf("docs/%s/%d.md", word(number%60), number),
			})
		}
		if err != nil {
			return err
		}
	}
	base := project.Head
	for i := 0; i < len(files); i += filesPerChangeset {
		operations := files[i:min(i+filesPerChangeset, len(files))]
		if base, err = publish(api, project.ID, base, operations); err != nil {
			return err
		}
	}
	for i := 0; i < len(tasks); i += tasksPerRequest {
		_, err := api.Post(path+"/checkpoint", client.RandomKey(), map[string]any{
			"summary": "Plan the work.", "tasks": tasks[i:min(i+tasksPerRequest, len(tasks))],
		}, nil)
		if err != nil {
			return err
		}
	}
	return nil
}
