package main

import (
	"bytes"
	"compress/gzip"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"os"
	"path/filepath"
	"reflect"
	"strings"
	"testing"
	"time"

	rest "pws/bench/client"
)

// uploadLoad is a project that is exported, sent in parts and imported again.
type uploadLoad struct {
	memoryLoad
	changesets, files, fileChars, partBytes int
}

// TestLargeBundlesComeBack exports the whole history of a project, uploads it in parts with a
// kill -9 between them, and imports it: all files, operations and contents come back. The memory of
// the server stays below its ceiling. With PWS_CUT_ALL the bundle is larger than a log entry.
func TestLargeBundlesComeBack(t *testing.T) {
	if testing.Short() {
		t.Skip("runs the service for seconds")
	}
	load := uploadLoad{
		memoryLoad: memoryLoad{memory: "256MiB", ceiling: 256 << 20, within: 2 * time.Minute},
		changesets: 60, files: 7, fileChars: 12_000, partBytes: 300_000,
	}
	if os.Getenv("PWS_CUT_ALL") != "" {
		load = uploadLoad{
			memoryLoad: memoryLoad{memory: "512MiB", ceiling: 512 << 20, within: 20 * time.Minute},
			changesets: 3000, files: 300, fileChars: 40_000, partBytes: 16 << 20,
		}
	}
	r := &uploadRun{memoryRun: newMemoryRun(t, load.memoryLoad), load: load}
	defer r.client.CloseIdleConnections()
	r.start()
	defer r.kill()
	owner, err := rest.New(r.process.URL)
	r.must(err)
	r.must(owner.Register("owner"))
	r.credential = owner.Credential
	project, err := owner.CreateProject("large")
	r.must(err)
	r.measured("changesets", func() { r.publish(owner, project) })
	owner.Close()
	bundle := filepath.Join(t.TempDir(), "bundle.json")
	r.measured("export", func() { r.export(project.ID, bundle) })
	upload := ""
	r.measured("parts, with a kill", func() { upload = r.sendParts(bundle) })
	copied := ""
	r.measured("finish", func() { copied = r.finish(upload, bundle) })
	again := filepath.Join(t.TempDir(), "again.json")
	r.measured("export of the copy", func() { r.export(copied, again) })
	want, got := r.read(bundle), r.read(again)
	if !reflect.DeepEqual(want, got) || len(want.History) != load.changesets+1 {
		t.Errorf("%d changesets, %d files and %d contents, want %d, %d and %d, or others",
			len(got.History), len(got.Files), len(got.Blobs), len(want.History), len(want.Files),
			len(want.Blobs))
	}
	if r.notePeak(); r.peak > load.ceiling {
		t.Errorf("%d MiB were resident, with --memory %s", r.peak>>20, load.memory)
	}
}

type uploadRun struct {
	*memoryRun
	load   uploadLoad
	client http.Client
}

// publish publishes changesets that each replace or make one file.
func (r *uploadRun) publish(api *rest.API, project rest.Project) {
	base := project.Head
	for nth := range r.load.changesets {
		action := "CREATE"
		if nth >= r.load.files {
			action = "MODIFY"
		}
		text := memoryText(nth, r.load.fileChars)
		var made struct {
			Changeset struct {
				ID string `json:"id"`
			} `json:"changeset"`
		}
		_, err := api.Post("/api/v1/projects/"+project.ID+"/changesets", rest.RandomKey(),
			map[string]any{
				"base_changeset_id": base, "message": fmt.Sprint("step ", nth),
				"operations": []any{map[string]any{
					"action": action, "path": fmt.Sprintf("dir%d/f.txt", nth%r.load.files),
					"content": text,
				}},
			}, &made)
		r.must(err)
		base = made.Changeset.ID
	}
}

// ask sends a request and returns the body of the answer.
func (r *uploadRun) ask(method, path string, body []byte, headers ...string) io.ReadCloser {
	r.t.Helper()
	request, err := http.NewRequestWithContext(
		r.ctx, method, "http://"+r.host+"/api/v1/projects/"+path, bytes.NewReader(body))
	r.must(err)
	request.Header.Set("Authorization", "Bearer "+r.credential)
	request.Header.Set("Content-Type", "application/json")
	for _, header := range headers {
		name, value, _ := strings.Cut(header, ": ")
		request.Header.Set(name, value)
	}
	answer, err := r.client.Do(request)
	r.must(err)
	if answer.StatusCode >= 300 {
		text, _ := io.ReadAll(answer.Body)
		r.t.Fatalf("%s %s: %d %.500s", method, path, answer.StatusCode, text)
	}
	return answer.Body
}

// data asks and decodes the data of the answer.
func (r *uploadRun) data(into any, method, path string, body []byte, headers ...string) {
	r.t.Helper()
	answer := r.ask(method, path, body, headers...)
	defer answer.Close()
	envelope := struct{ Data any }{into}
	r.must(json.NewDecoder(answer).Decode(&envelope))
}

func (r *uploadRun) export(project, name string) {
	r.t.Helper()
	answer := r.ask("GET", project+"/export?history=full", nil)
	defer answer.Close()
	file, err := os.Create(name)
	r.must(err)
	size, err := io.Copy(file, answer)
	r.must(err)
	r.must(file.Close())
	r.t.Logf("%d bytes", size)
}

// sendParts sends a bundle in parts, plain and compressed, and kills the server after half of them.
func (r *uploadRun) sendParts(name string) string {
	r.t.Helper()
	var made struct {
		Upload struct{ ID string }
	}
	r.data(&made, "POST", "import/uploads", []byte(`{"visibility":"PRIVATE"}`))
	text, err := os.ReadFile(name)
	r.must(err)
	count := (len(text) + r.load.partBytes - 1) / r.load.partBytes
	for nth := range count {
		part := text[nth*r.load.partBytes : min(len(text), (nth+1)*r.load.partBytes)]
		headers := []string{"Content-Type: application/octet-stream"}
		if nth%2 == 1 {
			var packed bytes.Buffer
			packer := gzip.NewWriter(&packed)
			_, err := packer.Write(part)
			r.must(err)
			r.must(packer.Close())
			part, headers = packed.Bytes(), append(headers, "Content-Encoding: gzip")
		}
		var put struct{ Part struct{ Number int } }
		path := fmt.Sprintf("import/uploads/%s/parts/%d", made.Upload.ID, nth+1)
		if r.data(&put, "PUT", path, part, headers...); put.Part.Number != nth+1 {
			r.t.Fatalf("part %d is %+v", nth+1, put)
		}
		if nth == count/2 {
			r.client.CloseIdleConnections()
			r.kill()
			r.start()
		}
	}
	return made.Upload.ID
}

func (r *uploadRun) finish(upload, name string) string {
	r.t.Helper()
	text, err := os.ReadFile(name)
	r.must(err)
	sum := sha256.Sum256(text)
	var made struct {
		Project  struct{ ID string }
		Imported struct{ Changesets int }
	}
	r.data(&made, "POST", "import/uploads/"+upload+"/finish",
		[]byte(`{"sha256":"`+hex.EncodeToString(sum[:])+`"}`))
	if made.Imported.Changesets != r.load.changesets+1 {
		r.t.Errorf("%d changesets were imported", made.Imported.Changesets)
	}
	return made.Project.ID
}

// exportedBundle is what a bundle has of files, history and contents.
type exportedBundle struct {
	Files []struct {
		Path    string
		Hash    string `json:"blob_hash"`
		Content string
	}
	History []struct {
		Message    string
		Operations []struct {
			Action, Path string
			Previous     *string `json:"previous_blob_hash"`
			Hash         *string `json:"blob_hash"`
			Size         *int    `json:"size_bytes"`
		}
	}
	Blobs map[string]string
}

func (r *uploadRun) read(name string) exportedBundle {
	r.t.Helper()
	text, err := os.ReadFile(name)
	r.must(err)
	var whole struct {
		Data struct{ Bundle exportedBundle }
	}
	r.must(json.Unmarshal(text, &whole))
	return whole.Data.Bundle
}
