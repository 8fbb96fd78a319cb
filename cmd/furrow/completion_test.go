package main

import (
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
)

func TestCompletionScriptsAreForTheirShells(t *testing.T) {
	for shell, check := range map[string][]string{"bash": {"-n"}, "zsh": {"-n"}, "fish": {"--no-execute"}} {
		code, out, errs := furrow(t.Context(), "completion", shell)
		if code != exitOK || !strings.Contains(out, "furrow") {
			t.Errorf("%s: exit %d, %s", shell, code, errs)
		}
		if _, err := exec.LookPath(shell); err != nil {
			continue
		}
		script := filepath.Join(t.TempDir(), "script")
		writeFile(t, script, out)
		if out, err := exec.CommandContext(t.Context(), shell, append(check, script)...).CombinedOutput(); err != nil {
			t.Errorf("%s refuses it: %v, %s", shell, err, out)
		}
	}
}

// TestBashCompletes runs the function that bash calls when Tab is pressed.
func TestBashCompletes(t *testing.T) {
	bash, err := exec.LookPath("bash")
	if err != nil {
		t.Skip("bash is not on this machine")
	}
	_, script, _ := furrow(t.Context(), "completion", "bash")
	program, err := os.Executable() // which the environment makes furrow
	must(t, err)
	for words, want := range map[string]string{
		"'devi'": "device", "device 'rest'": "restore", "device '--sta'": "", "device revoke '--at'": "--at-expiry",
		"query '--las'": "--last", "up '--stop'": "", // hidden
	} {
		command := script + "\nCOMP_WORDS=(" + program + " " + words +
			"); COMP_CWORD=$((${#COMP_WORDS[@]}-1)); _furrow; echo \"${COMPREPLY[@]}\""
		out, err := exec.CommandContext(t.Context(), bash, "-c", command).CombinedOutput()
		if err != nil || strings.TrimSpace(string(out)) != want {
			t.Errorf("%s: %q, %v; want %q", words, out, err, want)
		}
	}
}
