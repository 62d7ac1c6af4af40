package lines

import (
	"bufio"
	"os"
	"strings"
	"sync"
	"time"
)

// Pause is between two records of a client that goes on.
const Pause = 200 * time.Millisecond

// Case is one client at a secured listener; tests/conformance/python/cases.py says what it does and prints.
type Case struct {
	Name, Kind string
	Words      map[string]string
}

// EachCase executes the cases of standard input, all at a time.
func EachCase(execute func(Case)) {
	var running sync.WaitGroup
	for scanner := bufio.NewScanner(os.Stdin); scanner.Scan(); {
		parts := strings.Fields(scanner.Text())
		read := Case{parts[0], parts[1], map[string]string{}}
		for _, word := range parts[2:] {
			name, value, _ := strings.Cut(word, "=")
			read.Words[name] = value
		}
		running.Go(func() { execute(read) })
	}
	running.Wait()
}

// Step is one thing that a client does.
type Step struct {
	Name   string
	Action func() error
}

// Attempt does steps and tells what came of them, up to the first that fails.
func (c Case) Attempt(nameOf func(error) string, steps ...Step) {
	for _, step := range steps {
		if err := step.Action(); err != nil {
			if c.Kind == "works" {
				os.Stderr.WriteString(c.Name + " " + step.Name + ": " + err.Error() + "\n")
			}
			Emit("told", c.Name, step.Name, nameOf(err))
			return
		}
		Emit("told", c.Name, step.Name, "ok")
	}
}

// GoOn does something again and again for as long as the case says.
func (c Case) GoOn(action func() error) error {
	end := time.Now().Add(Milliseconds(c.Words, "renewal_ms"))
	for time.Now().Before(end) {
		if err := action(); err != nil {
			return err
		}
		time.Sleep(Pause)
	}
	return nil
}
