package main

import (
	"errors"
	"net"
	"strings"

	"pws/api"
	"pws/http"
)

// addresses are where a server is reached. Pages is nil, and webURL empty, unless the web page has
// an address of its own.
type addresses struct {
	main, pages net.Listener
	webURL      string
}

// checkWeb checks the flags of the web page.
func (c *ServeCommand) checkWeb() error {
	c.WebURL = strings.TrimSuffix(c.WebURL, "/")
	switch {
	case c.WebListen == "" && c.WebURL == "":
		return nil
	case c.WebListen == "":
		return errors.New("--web-url is the URL of the address of --web-listen, which is missing")
	case c.Web == "off":
		return errors.New("--web-listen is the address of the web page, which --web off turns off")
	case c.PublicURL != "" && c.WebURL == "":
		return errors.New("--web-listen needs --web-url where there is a --public-url: links to the " +
			"page begin with it")
	}
	if c.WebURL != "" {
		if problem := api.PublicURLProblem(c.WebURL); problem != "" {
			return errors.New("--web-url " + problem)
		}
	}
	return listenProblem("--web-listen", c.WebListen)
}

// listen opens all addresses, or none.
func (c *ServeCommand) listen() (at addresses, err error) {
	if at.main, err = net.Listen("tcp", c.Listen); err != nil || c.WebListen == "" {
		return at, err
	}
	if at.pages, err = net.Listen("tcp", c.WebListen); err != nil {
		return at, errors.Join(err, at.main.Close())
	}
	if at.webURL = c.WebURL; at.webURL == "" {
		at.webURL = urlOf(at.pages)
	}
	return at, nil
}

// urlOf is the URL of a listener.
func urlOf(listener net.Listener) string { return "http://" + listener.Addr().String() }

func (at addresses) close() error {
	err := at.main.Close()
	if at.pages != nil {
		err = errors.Join(err, at.pages.Close())
	}
	return err
}

// serve serves all addresses. Each sends how it ended; the capacity of the channel is their number.
func (at addresses) serve(server *http.Server) chan error {
	serves := []func() error{func() error { return server.Serve(at.main) }}
	if at.pages != nil {
		serves = append(serves, func() error { return server.ServePages(at.pages) })
	}
	ended := make(chan error, len(serves))
	for _, serve := range serves {
		go func() { ended <- serve() }()
	}
	return ended
}
