// Package search is the full-text index over everything PUBLIC. It is derived data and never holds
// the only copy of anything: it is removed and rebuilt if it is damaged, has another format or
// belongs to another service. Hits are checked against the live view, and all that is shown is
// rendered from that view.
//
// On disk it is a directory:
//
//	format   one line: "pws search", the version of the format, and a mark of the service
//	seal     SHA-256 of store/root.bolt in hexadecimal, written by a clean stop and removed by a
//	         start, so that a change of the file in between is detected
//	store/   the index of bleve (scorch): segments, each with a CRC-32 at its end that is checked at
//	         start, and root.bolt, which lists the current ones
//
// A document is a Key with three fields: the words of its title and text, the terms of the filters
// that it passes, and one value with the time and the version of the record as it was indexed. The
// index also holds the position of the log up to which it has everything, in the same batch as the
// documents, so that position and contents agree after any crash.
//
// # Indexing
//
// The index follows behind the log. The queue (queue.go) gives the next piece of work: first
// projects that are not PUBLIC any more, then changed documents, then projects that are looked
// through, and last the files of forks, which are found in the source too. Owners take turns, so
// that what one of them has changed, imported or forked delays others by one step at most. Forks
// have documents of their own, because filters, times and privacy are those of the fork.
//
// # Searching
//
// A hit is checked against the live view: it must be PUBLIC and pass the filters, and if its
// version differs the words are compared again. Snippets are made from the live view. A search
// reads the segments itself (segment.go): they never change, so the lists of frequent terms and the
// times of all documents are decoded once for each segment and cached, within a limit. Documents
// deleted since are looked up separately.
//
// The searches of bleve are not used: stock bleve was measured 10 to 20 times slower on the mix of
// queries. Postings read by its reader of the whole index, ranked here, still took 1.2 to 4.7 times
// as long as segment by segment, by the kind of query (15,000 documents).
//
// Names are indexed as terms with a prefix (name.go). A document whose title, handle, path or file
// name is the query comes first, then those that have all its words in their names. Stop words are
// left out by language, and accents are folded. A word without a match is corrected (correct.go);
// the caller checks both the missing match and the correction against live views.
package search
