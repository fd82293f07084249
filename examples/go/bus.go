package main

import (
	"crypto/rand"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"log"
	"os"
	"path/filepath"
	"reflect"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/nats-io/nats.go"
)

// Message is a received value of a fact. It may be the cause of a message.
type Message struct {
	Key        string
	Headers    nats.Header
	Data       []byte
	receivedAt string
}

func (m Message) id() string {
	return m.Headers.Get("Kubus-Source") + "." + m.Headers.Get("Kubus-Epoch") + "." + m.Headers.Get("Kubus-Seq")
}

// rank orders the values of a key: by term, the owner's epoch, and the owner's counter.
func (m Message) rank() [3]int {
	var rank [3]int
	for i, name := range []string{"Kubus-Term", "Kubus-Epoch", "Kubus-Version"} {
		rank[i], _ = strconv.Atoi(m.Headers.Get(name))
	}
	return rank
}

// Bus is the connection of one instance to the bus of its node.
type Bus struct {
	node, instance      string
	epoch, seq, version int
	nc                  *nats.Conn
	mutex               sync.Mutex
	owned               map[string]map[string]bool
}

// Join claims the slot that `kubus replace` gives, and connects.
func Join(service string) *Bus {
	var config struct {
		Node, State string
		Nats        struct{ URL, Identities string }
	}
	text, err := os.ReadFile(os.Getenv("KUBUS_CONFIG"))
	must(err)
	must(json.Unmarshal(text, &config))
	b := &Bus{node: config.Node, instance: service + "-" + os.Getenv("KUBUS_SLOT"), owned: map[string]map[string]bool{}}
	b.epoch = claimSlot(filepath.Join(config.State, service), os.Getenv("KUBUS_SLOT"))
	key, err := nats.NkeyOptionFromSeed(filepath.Join(config.Nats.Identities, b.instance+".nk"))
	must(err)
	// Everything has to be published again after a lost connection: this program leaves that to its next start.
	lost := nats.ClosedHandler(func(*nats.Conn) { log.Fatal("the connection is lost") })
	b.nc, err = nats.Connect(config.Nats.URL, key, lost, nats.NoReconnect(), nats.Name(b.instance), nats.CustomInboxPrefix("_INBOX."+b.instance))
	must(err)
	return b
}

// Fact is a reader's view of a fact: the newest value of each key.
type Fact struct {
	mutex  sync.Mutex
	values map[string]Message
	ranks  map[string][3]int
}

// All returns the present values.
func (f *Fact) All() []Message {
	f.mutex.Lock()
	defer f.mutex.Unlock()
	all := make([]Message, 0, len(f.values))
	for _, one := range f.values {
		all = append(all, one)
	}
	return all
}

// Get returns the value of a key.
func (f *Fact) Get(key string) (Message, bool) {
	f.mutex.Lock()
	defer f.mutex.Unlock()
	one, ok := f.values[key]
	return one, ok
}

func (f *Fact) take(subject string, m *nats.Msg) {
	token := subject[strings.LastIndex(subject, ".")+1:]
	// A completion mark also says which keys are removed; this reader acts on present keys alone.
	if strings.Contains(subject, ".=complete.") {
		return
	}
	one := Message{decode(token), m.Header, m.Data, now()}
	f.mutex.Lock()
	defer f.mutex.Unlock()
	rank, known := one.rank(), f.ranks[one.Key]
	if rank[0] < known[0] || rank[0] == known[0] && (rank[1] < known[1] || rank[1] == known[1] && rank[2] <= known[2]) {
		return
	}
	f.ranks[one.Key] = rank
	if m.Header.Get("Kubus-Removed") == "true" {
		delete(f.values, one.Key)
	} else {
		f.values[one.Key] = one
	}
}

// Follow reads a fact such as "sync.fact.pod", and returns when all stored values have been received.
func (b *Bus) Follow(fact string) *Fact {
	f := &Fact{values: map[string]Message{}, ranks: map[string][3]int{}}
	_, err := b.nc.Subscribe("kubus."+encode(b.node)+"."+fact+".>", func(m *nats.Msg) {
		// A copy that a consumer delivers again has a reply subject.
		if m.Reply == "" {
			f.take(m.Subject, m)
		}
	})
	must(err)
	bucket := "kubus_" + strings.ReplaceAll(b.node, ".", "_")
	name, filter := b.instance+"-"+random(4), "$KV."+bucket+"."+fact+".>"
	inbox, err := b.nc.SubscribeSync("_INBOX." + b.instance + "." + name)
	must(err)
	config := map[string]any{
		"name": name, "ack_policy": "none", "deliver_policy": "last_per_subject", "deliver_subject": inbox.Subject, "filter_subject": filter,
		"inactive_threshold": 10 * time.Second, "mem_storage": true, "num_replicas": 1,
	}
	request, _ := json.Marshal(map[string]any{"stream_name": "KV_" + bucket, "config": config})
	answer, err := b.nc.Request("STREAMS.API.CONSUMER.CREATE.KV_"+bucket+"."+name+"."+filter, request, 5*time.Second)
	must(err)
	var created struct {
		Error      *struct{ Description string }
		NumPending int `json:"num_pending"`
	}
	must(json.Unmarshal(answer.Data, &created))
	if created.Error != nil {
		log.Fatalf("the facts %s cannot be read: %s", fact, created.Error.Description)
	}
	for received := 0; received < created.NumPending; {
		m, err := inbox.NextMsg(5 * time.Second)
		must(err)
		// A heartbeat has another subject.
		if strings.HasPrefix(m.Subject, "$KV.") {
			f.take(m.Subject, m)
			received++
		}
	}
	must(inbox.Unsubscribe())
	return f
}

// Put stores a value of a fact that this instance owns; nil removes it.
func (b *Bus) Put(fact, key, pod string, value any, term int, causes ...Message) {
	data, removed := []byte(nil), value == nil
	if !removed {
		data, _ = json.Marshal(value)
	}
	if b.owned[fact] == nil {
		b.owned[fact] = map[string]bool{}
	}
	b.owned[fact][fact+"."+encode(key)] = !removed
	b.store(fact+"."+encode(key), fact+"/1", pod, data, removed, term, causes)
}

// Complete says that all keys of this instance have been stored.
func (b *Bus) Complete(fact string) {
	keys := []string{}
	for key, present := range b.owned[fact] {
		if present {
			keys = append(keys, key)
		}
	}
	data, _ := json.Marshal(map[string]any{"keys": keys})
	b.store(fact+".=complete."+encode(b.instance), fact+".complete/1", "", data, false, 0, nil)
}

// Serve publishes a fact for each pod, and every second what has changed of it: what answer says of the pod's work and the runtime's state of it.
func (b *Bus) Serve(service, fact string, answer func(work, state Message) any) {
	pods, states, shares := b.Follow("sync.fact.pod"), b.Follow("runtime.fact.pod"), b.Follow("node.fact.share")
	published := map[string]any{}
	for round := 0; ; round++ {
		var share struct{ Term int }
		if one, ok := shares.Get(service); ok {
			must(json.Unmarshal(one.Data, &share))
		}
		for _, work := range pods.All() {
			if state, ok := states.Get(work.Key); ok {
				if value := answer(work, state); !reflect.DeepEqual(published[work.Key], value) {
					published[work.Key] = value
					b.Put(fact, work.Key, work.Key, value, share.Term, state, work)
				}
			}
		}
		for uid := range published {
			if _, ok := pods.Get(uid); !ok {
				delete(published, uid)
				b.Put(fact, uid, uid, nil, share.Term)
			}
		}
		if round == 0 {
			b.Complete(fact)
			b.Announce(service)
			fmt.Println("serving")
		}
		time.Sleep(time.Second)
	}
}

// Announce says that this instance serves.
func (b *Bus) Announce(service string) {
	about := map[string]any{"service": service, "epoch": b.epoch, "version": "go", "pid": os.Getpid(), "startedAt": now()}
	b.Put("service.fact.instance", b.instance, "", about, 0)
	b.Complete("service.fact.instance")
}

// store repeats until the broker has stored it: right after its start it may have no bucket yet.
func (b *Bus) store(key, kind, pod string, data []byte, removed bool, term int, causes []Message) {
	b.mutex.Lock()
	defer b.mutex.Unlock()
	b.seq++
	b.version++
	trace := random(16)
	h := nats.Header{}
	for i, cause := range causes {
		if i == 0 {
			trace = strings.Split(cause.Headers.Get("traceparent"), "-")[1]
			h.Set("Kubus-Heard", cause.receivedAt)
			h.Set("Kubus-Causes", cause.id())
		} else {
			h.Set("Kubus-Causes", h.Get("Kubus-Causes")+","+cause.id())
		}
	}
	set := func(name string, value any) { h.Set(name, fmt.Sprint(value)) }
	set("Kubus-Type", kind)
	set("Kubus-Source", b.instance)
	set("Kubus-Epoch", b.epoch)
	set("Kubus-Seq", b.seq)
	set("Kubus-Version", b.version)
	set("Kubus-Time", now())
	set("Kubus-Node", b.node)
	set("traceparent", "00-"+trace+"-"+random(8)+"-01")
	if pod != "" {
		set("Kubus-Pod", pod)
	}
	if term > 0 {
		set("Kubus-Term", term)
	}
	if removed {
		set("Kubus-Removed", true)
	}
	subject := "$KV.kubus_" + strings.ReplaceAll(b.node, ".", "_") + "." + key
	for {
		answer, err := b.nc.RequestMsg(&nats.Msg{Subject: subject, Header: h, Data: data}, 5*time.Second)
		if err == nil && !strings.Contains(string(answer.Data), `"error"`) {
			return
		}
		time.Sleep(200 * time.Millisecond)
	}
}

// encode writes a name as one token of a subject.
func encode(text string) string {
	if text == "" {
		return "="
	}
	var token strings.Builder
	for _, c := range []byte(text) {
		if c >= 'a' && c <= 'z' || c >= 'A' && c <= 'Z' || c >= '0' && c <= '9' || c == '-' || c == '_' {
			token.WriteByte(c)
		} else {
			fmt.Fprintf(&token, "=%02X", c)
		}
	}
	return token.String()
}

func decode(token string) string {
	var text []byte
	for i := 0; i < len(token); i++ {
		if token[i] == '=' && i+2 < len(token) {
			c, _ := hex.DecodeString(token[i+1 : i+3])
			text, i = append(text, c...), i+2
		} else if token[i] != '=' {
			text = append(text, token[i])
		}
	}
	return string(text)
}

func now() string { return time.Now().UTC().Format("2006-01-02T15:04:05.000000Z") }

func random(bytes int) string {
	id := make([]byte, bytes)
	_, err := rand.Read(id)
	must(err)
	return hex.EncodeToString(id)
}

func must(err error) {
	if err != nil {
		log.Fatal(err)
	}
}
