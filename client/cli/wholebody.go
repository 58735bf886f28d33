package cli

import (
	"bytes"
	"compress/gzip"
	"encoding/binary"
	"errors"
	"fmt"
	"io"

	"github.com/go-json-experiment/json/jsontext"

	"pws/client"
)

// wholeBody reads a body of one format to its end, and returns an error if that is not where the
// format ends.
type wholeBody func(io.Reader) error

// copyWhole copies a body of a server, and returns an error unless it is whole. The end of the
// connection does not show that: a proxy that speaks HTTP/1.0 to the server cannot tell an answer
// without a length that was cut from one that has ended, and passes on both as whole.
//
// Errors: *client.UnreachableError, those of the body and of writing.
func copyWhole(
	to io.Writer, body io.Reader, whole wholeBody, server string,
) (size int64, err error) {
	checked, feed := io.Pipe()
	found := make(chan error, 1)
	go func() {
		err := whole(checked)
		// The copy goes on, whatever was found.
		_, _ = io.Copy(io.Discard, checked)
		found <- err
	}()
	size, err = io.Copy(io.MultiWriter(to, feed), body)
	_ = feed.CloseWithError(err)
	if cause := <-found; err == nil && cause != nil {
		if errors.Is(cause, io.EOF) {
			cause = io.ErrUnexpectedEOF
		}
		err = &client.UnreachableError{
			Server: server, Cause: fmt.Errorf("the answer is not whole: %w", cause),
		}
	}
	return size, err
}

// wholeJSON reads one value.
func wholeJSON(body io.Reader) error {
	d := jsontext.NewDecoder(body,
		jsontext.AllowDuplicateNames(true), jsontext.AllowInvalidUTF8(true))
	if err := d.SkipValue(); err != nil {
		return err
	}
	switch _, err := d.ReadToken(); {
	case errors.Is(err, io.EOF):
		return nil
	case err != nil:
		return err
	}
	return errors.New("there is more behind the value")
}

// wholeGzip reads a stream whose trailer has the checksum of all before.
func wholeGzip(body io.Reader) error {
	stream, err := gzip.NewReader(body)
	if err == nil {
		_, err = io.Copy(io.Discard, stream)
	}
	return err
}

// wholeZip reads an archive that ends with the end record of its directory.
func wholeZip(body io.Reader) error {
	const (
		signature             = "PK\x05\x06"
		recordSize, commentAt = 22, 20
		commentMax            = 1<<16 - 1
		keep                  = recordSize + commentMax
	)
	var tail []byte
	for part := make([]byte, 32<<10); ; {
		n, err := body.Read(part)
		tail = append(tail, part[:n]...)
		tail = tail[max(0, len(tail)-keep):]
		if errors.Is(err, io.EOF) {
			break
		}
		if err != nil {
			return err
		}
	}
	if at := bytes.LastIndex(tail, []byte(signature)); at >= 0 && len(tail)-at >= recordSize {
		record := tail[at:]
		if len(record) == recordSize+int(binary.LittleEndian.Uint16(record[commentAt:])) {
			return nil
		}
	}
	return io.ErrUnexpectedEOF
}
