package drivers

import (
	"bufio"
	"fmt"
	"net"
	"os"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/apache/cassandra-gocql-driver/v2"
)

const (
	goClient = "gocql"
	workers  = 8
	lanes    = 16
	// Each worker writes and reads so often at most.
	period = 80 * time.Millisecond
)

// One more execution, not two: where all three hosts have been asked or have failed, another one would end the request with "no connections".
var speculation = &gocql.SimpleSpeculativeExecution{NumAttempts: 1, TimeoutDelay: 50 * time.Millisecond}

// What the workers saw since the last trouble began.
type seen struct {
	lock               sync.Mutex
	requests, failures int
	gap, slowest       time.Duration
	last               time.Time
	// Of all troubles.
	wrong []string
}

func (seen *seen) note(began time.Time, err error) {
	seen.lock.Lock()
	defer seen.lock.Unlock()
	now := time.Now()
	seen.requests++
	if took := now.Sub(began); took > seen.slowest {
		seen.slowest = took
	}
	if err != nil {
		seen.failures++
		seen.wrong = append(seen.wrong, err.Error())
		return
	}
	if gap := now.Sub(seen.last); gap > seen.gap {
		seen.gap = gap
	}
	seen.last = now
}

// Ends one trouble's row, and begins another.
func (seen *seen) turn() string {
	seen.lock.Lock()
	defer seen.lock.Unlock()
	now := time.Now()
	gap := now.Sub(seen.last)
	if seen.gap > gap {
		gap = seen.gap
	}
	millis := func(time time.Duration) float64 { return float64(time.Microseconds()) / 1000 }
	row := fmt.Sprintf("%d %d %.2f %.2f", seen.requests, seen.failures, millis(gap), millis(seen.slowest))
	seen.requests, seen.failures, seen.gap, seen.slowest, seen.last = 0, 0, 0, 0, now
	return row
}

func (seen *seen) loses(what string) {
	seen.lock.Lock()
	defer seen.lock.Unlock()
	seen.wrong = append(seen.wrong, what)
}

// Writes rows and reads earlier ones until it is over. The numbers of the rows that were acknowledged.
func work(session *gocql.Session, worker int, seen *seen, isOver <-chan struct{}) []int {
	var kept []int
	for number := 0; ; number++ {
		began := time.Now()
		write := session.Query("INSERT INTO troubles.kept (client, lane, number) VALUES (?, ?, ?)", goClient, lane(worker, number), number)
		err := write.SetSpeculativeExecutionPolicy(speculation).Exec()
		seen.note(began, err)
		if err == nil {
			kept = append(kept, number)
		}
		if len(kept) > 0 {
			earlier := kept[number%len(kept)]
			asked := time.Now()
			read := session.Query(
				"SELECT number FROM troubles.kept WHERE client = ? AND lane = ? AND number = ?", goClient, lane(worker, earlier), earlier)
			rows := read.SetSpeculativeExecutionPolicy(speculation).Iter()
			count := rows.NumRows()
			err := rows.Close()
			seen.note(asked, err)
			if err == nil && count == 0 {
				seen.loses(fmt.Sprint("row ", worker, " ", earlier, " was acknowledged and is not read"))
			}
		}
		select {
		case <-isOver:
			return kept
		case <-time.After(time.Until(began.Add(period))):
		}
	}
}

func lane(worker, number int) int {
	return worker*lanes + number%lanes
}

// The acknowledged rows that QUORUM does not read.
func lost(t *testing.T, session *gocql.Session, kept [][]int) []string {
	there := map[[2]int]bool{}
	for lane := 0; lane < workers*lanes; lane++ {
		rows := session.Query("SELECT number FROM troubles.kept WHERE client = ? AND lane = ?", goClient, lane).Iter()
		var number int
		for rows.Scan(&number) {
			there[[2]int{lane, number}] = true
		}
		must(t, rows.Close())
	}
	var lost []string
	for worker, numbers := range kept {
		for _, number := range numbers {
			if !there[[2]int{lane(worker, number), number}] {
				lost = append(lost, fmt.Sprint(worker, " ", number))
			}
		}
	}
	return lost
}

// No idempotent request fails while nodes of a ring get into troubles. `python/troubles.py` runs the ring and says when a trouble begins.
func TestTroubles(t *testing.T) {
	ring := theRing(t)
	cluster := ring.through(ring.hosts[0])
	cluster.Hosts = ring.hosts
	cluster.Consistency = gocql.Quorum
	cluster.ReconnectInterval = 250 * time.Millisecond
	session := connect(t, cluster)
	defer session.Close()
	connection, err := net.Dial("unix", os.Getenv("HELENUS_RING_COMMANDS"))
	must(t, err)
	defer connection.Close()
	say := func(line string) {
		_, err := fmt.Fprintln(connection, line)
		must(t, err)
	}
	say("join " + goClient)
	var running sync.WaitGroup
	seen, isOver, kept := &seen{}, make(chan struct{}), make([][]int, workers)
	trouble := ""
	for lines := bufio.NewScanner(connection); lines.Scan(); {
		row := seen.turn()
		if trouble == "" {
			for worker := range kept {
				worker := worker
				running.Add(1)
				go func() {
					defer running.Done()
					kept[worker] = work(session, worker, seen, isOver)
				}()
			}
		} else {
			say("row " + trouble + " " + row)
		}
		if lines.Text() == "end" {
			break
		}
		trouble = strings.TrimPrefix(lines.Text(), "begin ")
	}
	close(isOver)
	running.Wait()
	missing, count := lost(t, session, kept), 0
	for _, numbers := range kept {
		count += len(numbers)
	}
	if len(missing) > 0 {
		say(fmt.Sprint("lost ", len(missing)))
		t.Fatalf("%d of %d acknowledged rows are lost: %v", len(missing), count, missing)
	}
	say(fmt.Sprint("kept ", count))
	if len(seen.wrong) > 0 {
		t.Fatalf("%d idempotent requests failed or read nothing: %v", len(seen.wrong), seen.wrong)
	}
}
