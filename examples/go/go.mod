module kubus.dev/examples/prober

go 1.19

require (
	github.com/mattn/go-sqlite3 v1.14.16
	github.com/nats-io/nats.go v1.22.1
)
