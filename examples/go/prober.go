// Replaces the `prober` of Kubus for readiness probes with tcpSocket; all other probes succeed: ./kubus replace prober -- examples/go/prober
package main

import (
	"encoding/json"
	"fmt"
	"net"
	"time"
)

type spec struct{ Containers []map[string]any }
type pod struct {
	Ref map[string]string
	Pod struct{ Spec spec }
}

type runtime struct {
	Containers []struct{ Name, ID, SandboxID, State string }
	Sandboxes  []struct {
		ID  string
		IPs []string
	}
}

// The results of a pod: by container run and kind of probe.
func results(work, state Message) any {
	var p pod
	var r runtime
	must(json.Unmarshal(work.Data, &p))
	must(json.Unmarshal(state.Data, &r))
	addresses, runs := map[string]string{}, map[string]map[string]string{}
	for _, s := range r.Sandboxes {
		addresses[s.ID] = append(s.IPs, "")[0]
	}
	for _, c := range p.Pod.Spec.Containers {
		for _, run := range r.Containers {
			if run.Name != c["name"] || run.State != "running" {
				continue
			}
			runs[run.ID] = map[string]string{}
			for _, kind := range []string{"startup", "liveness", "readiness"} {
				if probe, ok := c[kind+"Probe"].(map[string]any); ok {
					runs[run.ID][kind] = "success"
					tcp, ok := probe["tcpSocket"].(map[string]any)
					if ok && kind == "readiness" && !connects(addresses[run.SandboxID], fmt.Sprint(tcp["port"])) {
						runs[run.ID][kind] = "failure"
					}
				}
			}
		}
	}
	return map[string]any{"ref": p.Ref, "containers": runs}
}

func connects(host, port string) bool {
	connection, err := net.DialTimeout("tcp", net.JoinHostPort(host, port), time.Second)
	return err == nil && connection.Close() == nil
}

func main() { Join("prober").Serve("prober", "probe.fact.results", results) }
