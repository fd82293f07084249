// Replaces the `prober` of Kubus for readiness probes with tcpSocket, once a second; all other probes succeed.
//
//	./kubus replace prober -- examples/go/prober
package main

import (
	"encoding/json"
	"fmt"
	"net"
	"reflect"
	"time"
)

type pod struct {
	Ref map[string]string
	Pod struct {
		Spec struct {
			Containers []struct {
				Name           string
				StartupProbe   any
				LivenessProbe  any
				ReadinessProbe *struct{ TCPSocket *struct{ Port int } }
			}
		}
	}
}

type runtime struct {
	Containers []struct{ Name, ID, SandboxID, State string }
	Sandboxes  []struct {
		ID  string
		IPs []string
	}
}

func main() {
	bus := Join("prober")
	pods, runtimes, shares := bus.Follow("sync.fact.pod"), bus.Follow("runtime.fact.pod"), bus.Follow("node.fact.share")
	published := map[string]any{}
	for round := 0; ; round++ {
		var share struct{ Term int }
		if one, ok := shares.Get("prober"); ok {
			must(json.Unmarshal(one.Data, &share))
		}
		for _, work := range pods.All() {
			if state, ok := runtimes.Get(work.Key); ok {
				if results := probe(work, state); !reflect.DeepEqual(published[work.Key], results) {
					published[work.Key] = results
					bus.Put("probe.fact.results", work.Key, work.Key, results, share.Term, state, work)
				}
			}
		}
		for uid := range published {
			if _, ok := pods.Get(uid); !ok {
				delete(published, uid)
				bus.Put("probe.fact.results", uid, uid, nil, share.Term)
			}
		}
		if round == 0 {
			bus.Complete("probe.fact.results")
			bus.Announce("prober")
			fmt.Println("serving")
		}
		time.Sleep(time.Second)
	}
}

// probe returns the results of a pod: by container run and kind of probe.
func probe(work, state Message) any {
	var p pod
	var r runtime
	must(json.Unmarshal(work.Data, &p))
	must(json.Unmarshal(state.Data, &r))
	runs := map[string]map[string]string{}
	for _, c := range p.Pod.Spec.Containers {
		for _, run := range r.Containers {
			if run.Name != c.Name || run.State != "running" {
				continue
			}
			runs[run.ID] = map[string]string{}
			if c.StartupProbe != nil {
				runs[run.ID]["startup"] = "success"
			}
			if c.LivenessProbe != nil {
				runs[run.ID]["liveness"] = "success"
			}
			if c.ReadinessProbe != nil {
				runs[run.ID]["readiness"] = "success"
				for _, s := range r.Sandboxes {
					if tcp := c.ReadinessProbe.TCPSocket; tcp != nil && s.ID == run.SandboxID && len(s.IPs) > 0 && !connects(s.IPs[0], tcp.Port) {
						runs[run.ID]["readiness"] = "failure"
					}
				}
			}
		}
	}
	return map[string]any{"ref": p.Ref, "containers": runs}
}

func connects(host string, port int) bool {
	connection, err := net.DialTimeout("tcp", net.JoinHostPort(host, fmt.Sprint(port)), time.Second)
	if err != nil {
		return false
	}
	return connection.Close() == nil
}
