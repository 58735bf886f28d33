package api

import (
	"archive/tar"
	"archive/zip"
	"io"
	"strings"
	"time"

	"github.com/klauspost/compress/flate"
	"github.com/klauspost/compress/gzip"

	"pws/internal/fault"
	"pws/internal/id"
	"pws/work"
)

// Download is a document that is produced while it is sent. It is sent unchanged, without an
// envelope, and the same rules hold as for a Stream.
type Download struct {
	ContentType string
	// Name is what a client may call the file: letters, digits, _, - and dots.
	Name  string
	Write Stream
}

const (
	gzipMedia = "application/gzip"
	zipMedia  = "application/zip"
	// formatTarGzip and formatZip are the formats of archives.
	formatTarGzip = "tar.gz"
	formatZip     = "zip"
)

var archiveOperations = []*Operation{
	declare[None, Document](Operation{
		Name: "project.archive", Method: "GET", Path: "/api/v1/projects/{project}/archive",
		Auth: Optional, Category: CategoryRead, Expensive: true, Statuses: []int{200},
		Params: projectParam,
		Query: []Param{
			{
				Name: "format", Check: "enum=" + formatTarGzip + "|" + formatZip,
				Doc: "The format, tar.gz if absent.",
			},
			changesetQuery, prefixParam,
		},
		Errors: []fault.Code{
			fault.ProjectNotFound, fault.ReuseNotPermitted, fault.ChangesetNotFound,
		},
		Media: []string{gzipMedia, zipMedia},
		Tag:   "files", Summary: "Download all files",
		Doc: "Returns the files of a project as an archive, sorted by path, with the time of the " +
			"changeset. The response is streamed and the same for the same changeset; a truncated " +
			"response is not a complete archive. Removed contents are left out. If the reuse " +
			"policy is REFERENCE_ONLY, only members may download one.",
	}, archiveProject),
}

func archiveProject(c *Call, _ *None) (Reply, error) {
	view, err := c.readable()
	if err != nil {
		return Reply{}, err
	}
	if err := work.MayExport.Require(view, c.Agent); err != nil {
		return Reply{}, err
	}
	changeset, err := c.changesetWanted(view)
	if err != nil {
		return Reply{}, err
	}
	a := &archive{
		call: c.detached(), view: view, changeset: changeset, prefix: c.Query[prefixParam.Name],
		modified: time.UnixMilli(changeset.CreatedAt).UTC().Truncate(time.Second),
	}
	format, media, write := formatTarGzip, gzipMedia, a.writeTarGzip
	if c.Query["format"] == formatZip {
		format, media, write = formatZip, zipMedia, a.writeZip
	}
	return Reply{Data: Download{
		ContentType: media, Name: changeset.ID.Format(id.Changeset) + "." + format, Write: write,
	}}, nil
}

// archive writes the files after a changeset. It holds one content at a time. What it writes
// depends on the files and the time of the changeset alone.
type archive struct {
	call      *Call
	view      *work.Project
	changeset *work.Changeset
	prefix    string
	modified  time.Time
}

// files calls a function with each file and its content.
func (a *archive) files(add func(path string, content []byte) error) (err error) {
	visit := func(info work.FileInfo) bool {
		if !strings.HasPrefix(info.Path, a.prefix) {
			return false
		}
		if err = a.call.mayStillExport(a.view.ID); err != nil {
			return false
		}
		var content []byte
		content, err = a.call.Service.Engine.Blob(info.Blob)
		if isCode(err, fault.ContentRemoved) {
			err = nil
			return true
		}
		if err == nil {
			err = add(info.Path, content)
		}
		return err == nil
	}
	if a.changeset == a.view.Head() {
		a.view.Files(a.prefix, visit)
	} else {
		a.view.FilesAt(a.changeset, a.prefix, visit)
	}
	return err
}

const archiveFileMode = 0o644

func (a *archive) writeTarGzip(w io.Writer) error {
	// The header of gzip has no time and no name.
	packed, err := gzip.NewWriterLevel(w, gzip.BestSpeed)
	if err != nil {
		return err
	}
	out := tar.NewWriter(packed)
	err = a.files(func(path string, content []byte) error {
		err := out.WriteHeader(&tar.Header{
			Typeflag: tar.TypeReg, Name: path, Size: int64(len(content)), Mode: archiveFileMode,
			ModTime: a.modified,
		})
		if err == nil {
			_, err = out.Write(content)
		}
		return err
	})
	if err == nil {
		err = out.Close()
	}
	if err == nil {
		err = packed.Close()
	}
	return err
}

func (a *archive) writeZip(w io.Writer) error {
	out := zip.NewWriter(w)
	packer, err := flate.NewWriter(nil, flate.BestSpeed)
	if err != nil {
		return err
	}
	// Files are written one after the other, so they share the memory of one compressor.
	out.RegisterCompressor(zip.Deflate, func(w io.Writer) (io.WriteCloser, error) {
		packer.Reset(w)
		return packer, nil
	})
	err = a.files(func(path string, content []byte) error {
		header := &zip.FileHeader{Name: path, Method: zip.Deflate, Modified: a.modified}
		header.SetMode(archiveFileMode)
		file, err := out.CreateHeader(header)
		if err == nil {
			_, err = file.Write(content)
		}
		return err
	})
	if err == nil {
		err = out.Close()
	}
	return err
}
