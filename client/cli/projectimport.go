package cli

import (
	"bytes"
	"compress/gzip"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"math"
	"net/http"
	"strconv"
	"time"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"

	"pws/client"
)

// ProjectImportCommand imports a bundle.
type ProjectImportCommand struct {
	Common
	File       string `arg:"" help:"The bundle that export wrote, - for standard input."`
	Name       string `help:"Name of the project; that of the bundle by default." placeholder:"NAME"`
	Visibility string `default:"PRIVATE" help:"PRIVATE, UNLISTED or PUBLIC."`
	Reuse      string `help:"ALLOW_REUSE or REFERENCE_ONLY." placeholder:"POLICY"`
	PartBytes  int    `default:"8388608" hidden:"" help:"Size of a part of a large bundle."`
	Again      bool   `help:"Import a large bundle again that was imported within the last hour."`
}

// Run makes the project. A bundle that is larger than a part is sent in parts; a run that was
// interrupted goes on with the parts that are missing when it is repeated.
func (c *ProjectImportCommand) Run(ctx context.Context, env *Env) error {
	// A bundle that is larger than a body is sent in parts.
	text, err := env.readInput(c.File, math.MaxInt64-1)
	if err != nil {
		return err
	}
	bundle, err := bundleOf(text)
	if err != nil {
		return usagef("%s is not a bundle: %w", c.File, err)
	}
	body := members("name", c.Name, "visibility", upper(c.Visibility), "reuse_policy", upper(c.Reuse))
	say := say("%s  %s", "project.id", "project.name")
	if len(bundle) <= c.PartBytes {
		body["bundle"] = bundle
		return c.Common.send(ctx, env, http.MethodPost, apiPath("projects", "import"), body, say)
	}
	caller, err := c.account(env)
	if err != nil {
		return err
	}
	defer caller.close()
	data, err := c.inParts(ctx, env, caller, body, bundle)
	if err != nil {
		return err
	}
	return c.printData(ctx, env, data, say)
}

// bundleOf is the bundle in what export wrote: the answer of the server, its data, or the bundle.
func bundleOf(text jsontext.Value) (jsontext.Value, error) {
	var exported struct {
		Bundle jsontext.Value `json:"bundle"`
		Data   struct {
			Bundle jsontext.Value `json:"bundle"`
		} `json:"data"`
	}
	if err := json.Unmarshal(text, &exported); err != nil {
		return nil, err
	}
	switch {
	case len(exported.Data.Bundle) > 0:
		return exported.Data.Bundle, nil
	case len(exported.Bundle) > 0:
		return exported.Bundle, nil
	}
	return text, nil
}

// upload is an upload of the service.
type upload struct {
	ID     string `json:"id"`
	Status string `json:"status"`
	Parts  []struct {
		Number int    `json:"number"`
		SHA256 string `json:"sha256"`
	} `json:"parts"`
	Limits struct {
		PartBytes int `json:"part_bytes"`
		Parts     int `json:"parts"`
	} `json:"limits"`
	Error *struct {
		Code    string `json:"code"`
		Message string `json:"message"`
	} `json:"error"`
	Progress struct {
		Read  int64 `json:"read_bytes"`
		Total int64 `json:"total_bytes"`
	} `json:"progress"`
}

const uploadsPath = "/api/v1/projects/import/uploads"

// inParts imports a bundle through an upload. The key of the upload comes from the bundle, so that
// another run finds the upload.
func (c *ProjectImportCommand) inParts(
	ctx context.Context, env *Env, caller *account, body map[string]any, bundle []byte,
) (jsontext.Value, error) {
	request, err := write(http.MethodPost, uploadsPath, body)
	if err != nil {
		return nil, err
	}
	if !c.Again {
		request.Key = hashOf(append(bytes.Clone(request.Body), bundle...))
	}
	begun, err := caller.upload(ctx, request)
	if err != nil {
		return nil, err
	}
	if begun.Limits.PartBytes < 1 || begun.Limits.Parts < 1 {
		return nil, fmt.Errorf("the server takes uploads of %d parts of %d bytes",
			begun.Limits.Parts, begun.Limits.PartBytes)
	}
	size := min(c.PartBytes, begun.Limits.PartBytes)
	size = max(size, (len(bundle)+begun.Limits.Parts-1)/begun.Limits.Parts)
	parts := (len(bundle) + size - 1) / size
	if begun.Status == "DONE" {
		fmt.Fprintln(env.Err, "This bundle was imported before: --again makes another project of it.")
	} else if err := caller.sendParts(ctx, env, begun, bundle, size); err != nil {
		return nil, err
	}
	finish, err := write(http.MethodPost, uploadsPath+"/"+begun.ID+"/finish",
		map[string]any{"parts": parts, "sha256": hashOf(bundle)})
	if err != nil {
		return nil, err
	}
	finish.Key, finish.Harmless = "", true
	return caller.finish(ctx, env, begun.ID, finish)
}

func hashOf(content []byte) string {
	sum := sha256.Sum256(content)
	return hex.EncodeToString(sum[:])
}

// upload sends a request whose answer is an upload.
func (a *account) upload(ctx context.Context, request *client.Request) (found upload, err error) {
	data, err := dataOf(a.Do(ctx, request))
	if err != nil {
		return found, err
	}
	answer := struct {
		Upload *upload `json:"upload"`
	}{&found}
	return found, json.Unmarshal(data, &answer)
}

// sendParts sends the parts that the server does not have.
func (a *account) sendParts(
	ctx context.Context, env *Env, to upload, bundle []byte, size int,
) error {
	have := map[int]string{}
	for _, part := range to.Parts {
		have[part.Number] = part.SHA256
	}
	show := env.progress()
	for number, at := 1, 0; at < len(bundle); number, at = number+1, at+size {
		show(int64(at), int64(len(bundle)))
		part := bundle[at:min(at+size, len(bundle))]
		if have[number] == hashOf(part) {
			continue
		}
		packed, err := gzipped(part)
		if err != nil {
			return err
		}
		_, err = a.Do(ctx, &client.Request{
			Method: http.MethodPut, Body: packed, Harmless: true,
			Path: uploadsPath + "/" + to.ID + "/parts/" + strconv.Itoa(number),
			Header: http.Header{
				"Content-Type": {mediaBytes}, "Content-Encoding": {"gzip"},
			},
		})
		if err != nil {
			return fmt.Errorf("part %d: %w", number, err)
		}
	}
	show(int64(len(bundle)), int64(len(bundle)))
	return nil
}

func gzipped(part []byte) ([]byte, error) {
	var packed bytes.Buffer
	w, err := gzip.NewWriterLevel(&packed, gzip.BestSpeed)
	if err != nil {
		return nil, err
	}
	_, err = w.Write(part)
	err = errors.Join(err, w.Close())
	return packed.Bytes(), err
}

// importPoll is how often the progress of an import is read.
const importPoll = time.Second

// finish imports an upload. An import that takes longer than an answer may is waited for.
func (a *account) finish(
	ctx context.Context, env *Env, id string, request *client.Request,
) (jsontext.Value, error) {
	show := env.progress()
	for {
		data, err := dataOf(a.Do(ctx, request))
		var lost *client.UnreachableError
		if err == nil || !errors.As(err, &lost) && !client.IsCode(err, "UPLOAD_NOT_OPEN") {
			return data, err
		}
		for running := true; running; {
			now, readErr := a.upload(ctx, get(uploadsPath+"/"+id, nil))
			if readErr != nil {
				return nil, errors.Join(err, readErr)
			}
			running = now.Status == "IMPORTING"
			if !running && now.Status != "DONE" {
				return nil, err
			}
			show(now.Progress.Read, now.Progress.Total)
			if running && client.Pause(ctx, importPoll) != nil {
				return nil, ctx.Err()
			}
		}
	}
}
