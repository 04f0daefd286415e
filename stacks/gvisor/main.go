// The program nettrial-stack-gvisor is a host whose TCP/IP is gVisor's netstack. It takes the frames of its interfaces from
// packet sockets, and speaks the protocol of nettrial's agents (engine/traffic/src/protocol.rs): orders on its standard
// input, reports on its standard output. The end of its input, or of its parent, ends it.
package main

import (
	"bufio"
	"encoding/json"
	"flag"
	"fmt"
	"os"
	"runtime/debug"

	"golang.org/x/sys/unix"
)

// name is the stack's name in studies.
const name = "gvisor"

// module is the Go module of the stack, whose version is that of the stack.
const module = "gvisor.dev/gvisor"

// mostOrderBytes is the largest length of an order.
const mostOrderBytes = 64 << 20

func main() {
	version := flag.Bool("version", false, "print the stack's name and version as a JSON document, and end")
	host := flag.String("host", "", "the host's interfaces, neighbours, routes and TCP settings, a JSON document")
	flag.Parse()
	if *version {
		document, err := json.Marshal(map[string]string{"name": name, "version": stackVersion()})
		exitOn(err)
		fmt.Println(string(document))
		return
	}
	// The input has ended if the parent ended before this call.
	exitOn(unix.Prctl(unix.PR_SET_PDEATHSIG, uintptr(unix.SIGKILL), 0, 0, 0))
	started, failure := startHost(*host)
	agent := &agent{host: started, failure: failure, output: os.Stdout}
	exitOn(agent.run(bufio.NewReaderSize(os.Stdin, 1<<16)))
}

func exitOn(err error) {
	if err != nil {
		fmt.Fprintln(os.Stderr, "nettrial-stack-"+name+":", err)
		os.Exit(1)
	}
}

// stackVersion returns the version of the stack's module with which this program was built.
func stackVersion() string {
	if info, ok := debug.ReadBuildInfo(); ok {
		for _, dependency := range info.Deps {
			if dependency.Path == module {
				return dependency.Version
			}
		}
	}
	return "unknown"
}
