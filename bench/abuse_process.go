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

// Each attack has a process of its own. It starts a process with the ordinary users, lowers its
// priority, starts the server, and lowers its priority again BEFORE it attacks. All share the
// processors of one machine, but the users wait for the server only: not in the attacker's program,
// and not for a processor to receive an answer. The attacker takes what the server leaves.

// How much lower the priority of the server is than that of the users, and that of an attacker than
// that of the server: an attacker gets a tenth of a processor that the server wants as well.
const (
	serverNice = 5
	attackNice = 10
)

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

// yield lowers the priority of a process of its own.
func (c *AbuseConfig) yield(by int) error {
	if !c.yields {
		return nil
	}
	return lowerPriority(by)
}

// The paths of a process with ordinary users.
const (
	startPath = "/start/"
	beginPath = "/begin"
	endPath   = "/end"
)

// ServeUsers serves ordinary users until the context ends. It announces its own address like the
// service. A request to startPath, followed by the host of a server, has the users work on that
// server. One to beginPath makes them forget what they have measured, one to endPath is answered
// with a UserPhase.
func ServeUsers(ctx context.Context, out io.Writer) error {
	u := new(users)
	defer u.stop()
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return err
	}
	mux := http.NewServeMux()
	mux.HandleFunc(startPath+"{host}", func(w http.ResponseWriter, r *http.Request) {
		if err := u.start(ctx, r.PathValue("host")); err != nil {
			http.Error(w, err.Error(), http.StatusBadGateway)
		}
	})
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

// prepareUsers starts the process of the users, who do not work yet.
func (c *AbuseConfig) prepareUsers(ctx context.Context) (*usersProcess, error) {
	process, err := child.Start(ctx, startPatience, child.Program{
		Path: c.Program, Args: []string{"bench-users"},
	})
	if err != nil {
		return nil, err
	}
	return &usersProcess{process: process, client: &http.Client{Transport: &http.Transport{}}}, nil
}

// start has the users work on a server until they are stopped.
func (u *usersProcess) start(ctx context.Context, host string) error {
	return u.request(ctx, startPath+host, nil)
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
	if err == nil && response.StatusCode != http.StatusOK {
		err = fmt.Errorf("the process of the users: %s", text)
	}
	if err == nil && into != nil {
		err = json.Unmarshal(text, into)
	}
	return err
}
