// Package search is the full-text index over what is PUBLIC. It is derived: it holds words and
// names, never the only copy of anything, and it is thrown away and made anew where it is damaged,
// of another format or of another service. What it finds is judged by the live view, and all that
// is shown is made of that.
//
// On disk it is a folder:
//
//	format   one line: "pws search", the version of the format, and a mark of the service
//	seal     SHA-256 of store/root.bolt in hexadecimal, written by a clean stop and taken away by a
//	         start, so that what happened to the file in between is noticed
//	store/   the index of bleve (scorch): segments, each with a CRC-32 at its end that is checked by
//	         a start, and root.bolt, which says which of them are in force
//
// A document is a Key with three fields: the words of its title and text, the terms of the filters
// that it passes, and one value with the time and the version of the record as it was indexed. The
// index also holds the position of the log up to which it has everything, in the same batch as the
// documents, so that position and contents agree after any crash.
//
// # Searching
//
// A hit is judged by the live view: it must be PUBLIC and pass the filters, and where its version
// is another the words are compared again. Snippets are made of the live view. A search walks the
// segments itself (segment.go): they never change, so the lists of frequent terms and the times of
// all documents are decoded once for each segment and kept, within a bound. Documents deleted since
// are looked up apart.
//
// The searches of bleve are not used: stock bleve was measured 10 to 20 times slower on the mix of
// queries. Postings read by its reader of the whole index, ranked here, still took 1.2 to 4.7 times
// as long as segment by segment, by the kind of query (15,000 documents).
//
// Names are indexed as terms behind a mark (name.go). A document whose title, handle, path or file
// name is the query comes first, then those that have all its words in their names. Stop words are
// left out by language, and accents are folded. A word without a match is corrected (correct.go);
// the caller checks both the missing match and the correction against live views.
package search
