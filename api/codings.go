package api

// ContentEncodings are the content codings that request bodies may have.
var ContentEncodings = []string{"gzip", "zstd"}
