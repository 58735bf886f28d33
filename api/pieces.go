package api

import "pws/api/jsonschema"

// Pieces is data with texts that may be large, which are encoded while the answer is written. What
// it appends is what it writes.
type Pieces interface {
	Appender
	// TextBytes is the size of the texts. A handler reserves it with Call.hold BEFORE it loads them.
	TextBytes() int
	// WritePieces writes the JSON. It may be called several times, AFTER the call ends.
	WritePieces(w PieceWriter) error
}

// PieceWriter takes JSON in pieces.
type PieceWriter interface {
	// JSON takes a piece without a part of a token. It may change the piece and does not keep it.
	JSON(piece []byte) error
	// Text takes a text that becomes a string.
	Text(text string) error
}

// pieceAppender appends pieces; it does not fail.
type pieceAppender struct{ out []byte }

// JSON implements PieceWriter.
func (p *pieceAppender) JSON(piece []byte) error {
	p.out = append(p.out, piece...)
	return nil
}

// Text implements PieceWriter.
func (p *pieceAppender) Text(text string) error {
	p.out = jsonschema.AppendString(p.out, text)
	return nil
}

func appendPieces(dst []byte, data Pieces) []byte {
	into := pieceAppender{out: dst}
	_ = data.WritePieces(&into)
	return into.out
}

// hold reserves memory for texts of the answer until it is written. Errors: RATE_LIMITED.
func (c *Call) hold(bytes int) error {
	if c.Meter == nil {
		return nil
	}
	return c.Meter.HoldMemory(bytes)
}
