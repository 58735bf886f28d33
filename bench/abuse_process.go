package bench

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"time"

	"pws/bench/child"
)

// Each attack has a process of its own, which starts the server and a process with the ordinary
// users. BEFORE an attack it lowers its own priority. All share the processors of one machine, but
// the users do not wait in the attacker's program, and the attacker takes from the processors what
// the server and the users leave.

// attackArgs are the arguments that make AbuseConfig.Program run ServeAttack.
func attackArgs(config *AbuseConfig) ([]string, error) {
	text, err := json.Marshal(config)
	return []string{"bench-attack", string(text)}, err
}

// runAttack carries out one attack in a process of its own.
func (c *AbuseConfig) runAttack(ctx context.Context, name string) (*AbuseResult, error) {
	one := *c
	one.Only = []string{name}
	args, err := attackArgs(&one)
	if err != nil {
		return nil, err
	}
	out, err := child.Output(ctx, child.Program{Path: c.Program, Args: args})
	if err != nil {
		return nil, err
	}
	result := new(AbuseResult)
	if err := json.Unmarshal(out, result); err != nil {
		return nil, fmt.Errorf("result of an attack: %w", err)
	}
	return result, nil
}

// ServeAttack carries out the one attack that a config in JSON names, and prints its result as
// JSON.
func ServeAttack(ctx context.Context, text string, out io.Writer) error {
	var config AbuseConfig
	if err := json.Unmarshal([]byte(text), &config); err != nil {
		return err
	}
	config.yields = true
	for _, one := range attacks {
		if len(config.Only) == 1 && one.name == config.Only[0] {
			result, err := config.carryOut(ctx, &one)
			if err != nil {
				return err
			}
			return json.NewEncoder(out).Encode(result)
		}
	}
	return fmt.Errorf("no attack in %s", text)
}

// The paths of a process with ordinary users.
const (
	beginPath = "/begin"
	endPath   = "/end"
)

// ServeUsers has ordinary users work on the server at a host until the context ends. It announces
// its own address like the service. A request to beginPath makes the users forget what they have
// measured, one to endPath is answered with a UserPhase.
func ServeUsers(ctx context.Context, host string, out io.Writer) error {
	u := &users{host: host}
	if err := u.start(ctx); err != nil {
		return err
	}
	defer u.stop()
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return err
	}
	mux := http.NewServeMux()
	mux.HandleFunc(beginPath, func(http.ResponseWriter, *http.Request) { u.begin() })
	mux.HandleFunc(endPath, func(w http.ResponseWriter, _ *http.Request) {
		var phase UserPhase
		u.end(&phase, graceTime)
		if err := json.NewEncoder(w).Encode(phase); err != nil {
			panic(err)
		}
	})
	server := &http.Server{Handler: mux, ReadHeaderTimeout: time.Minute}
	release := context.AfterFunc(ctx, func() { _ = server.Close() })
	defer release()
	fmt.Fprintf(out, "%shttp://%s\n", child.Announcement, listener.Addr())
	if err := server.Serve(listener); !errors.Is(err, http.ErrServerClosed) {
		return err
	}
	return nil
}

// usersProcess are the ordinary users of a scene.
type usersProcess struct {
	process *child.Process
	client  *http.Client
}

// startUsers starts the users, who work until they are stopped.
func (s *scene) startUsers(ctx context.Context) (*usersProcess, error) {
	process, err := child.Start(ctx, startPatience, child.Program{
		Path: s.config.Program, Args: []string{"bench-users", s.host},
	})
	if err != nil {
		return nil, err
	}
	return &usersProcess{process: process, client: &http.Client{Transport: &http.Transport{}}}, nil
}

func (u *usersProcess) stop() {
	u.client.CloseIdleConnections()
	u.process.Kill()
}

// begin makes the users forget what they have measured.
func (u *usersProcess) begin(ctx context.Context) error { return u.request(ctx, beginPath, nil) }

// end returns what the users have measured since begin.
func (u *usersProcess) end(ctx context.Context, phase *UserPhase) error {
	return u.request(ctx, endPath, phase)
}

func (u *usersProcess) request(ctx context.Context, path string, into any) error {
	request, err := http.NewRequestWithContext(ctx, http.MethodGet, u.process.URL+path, nil)
	if err != nil {
		return err
	}
	response, err := u.client.Do(request)
	if err != nil {
		return fmt.Errorf("the process of the users: %w", err)
	}
	defer response.Body.Close()
	text, err := io.ReadAll(response.Body)
	if err == nil && into != nil {
		err = json.Unmarshal(text, into)
	}
	return err
}
