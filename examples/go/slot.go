package main

import (
	"database/sql"
	"log"
	"os"
	"path/filepath"

	_ "github.com/mattn/go-sqlite3"
)

// claimSlot takes the right to run as one instance of a service, which the kernel frees when the process ends, and returns the epoch of this run.
func claimSlot(folder, slot string) (epoch int) {
	must(os.MkdirAll(folder, 0o700))
	lock, err := sql.Open("sqlite3", filepath.Join(folder, "slot-"+slot+".lock")+"?_locking_mode=EXCLUSIVE&_txlock=exclusive&_busy_timeout=0")
	must(err)
	// The lock is that of one connection.
	lock.SetMaxOpenConns(1)
	if _, err := lock.Exec("BEGIN EXCLUSIVE; CREATE TABLE IF NOT EXISTS slot (taken INTEGER); COMMIT"); err != nil {
		log.Fatalf("slot %s in %s is held by another process: %v", slot, folder, err)
	}
	counter, err := sql.Open("sqlite3", filepath.Join(folder, "epoch.db")+"?_busy_timeout=5000")
	must(err)
	defer counter.Close()
	_, err = counter.Exec("CREATE TABLE IF NOT EXISTS epoch (id INTEGER PRIMARY KEY CHECK (id = 1), value INTEGER NOT NULL)")
	must(err)
	next := "INSERT INTO epoch (id, value) VALUES (1, 1) ON CONFLICT (id) DO UPDATE SET value = value + 1 RETURNING value"
	must(counter.QueryRow(next).Scan(&epoch))
	return epoch
}
