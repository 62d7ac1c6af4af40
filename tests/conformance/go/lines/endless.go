package lines

import (
	"bytes"
	"fmt"
	"time"
)

// Endless checks the records of a synthetic topic: offsets are contiguous from 0 on, and each run repeats the first one.
type Endless struct {
	run   int64
	first [][]byte
	count int64
	bytes int64
	begin time.Time
}

// NewEndless begins before the first record of runs of so many records.
func NewEndless(run int64) *Endless {
	return &Endless{run: run, begin: time.Now()}
}

// Take checks the next record, and panics if it is another one.
func (endless *Endless) Take(offset int64, value []byte) {
	if offset != endless.count {
		panic(fmt.Sprintf("offset %d in place of %d", offset, endless.count))
	}
	if offset < endless.run {
		endless.first = append(endless.first, bytes.Clone(value))
	} else if !bytes.Equal(value, endless.first[offset%endless.run]) {
		panic(fmt.Sprintf("offset %d has another value than in the first run", offset))
	}
	endless.count++
	endless.bytes += int64(len(value))
}

// Count is the number of records so far.
func (endless *Endless) Count() int64 {
	return endless.count
}

// Print tells how much was read, and how fast.
func (endless *Endless) Print() {
	seconds := time.Since(endless.begin).Seconds()
	fmt.Printf("read %d records, %.0f MB/s\n", endless.count, float64(endless.bytes)/1e6/seconds)
}
