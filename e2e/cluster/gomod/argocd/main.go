// Command argocd runs the parts of Argo CD that sync applications, chosen by ARGOCD_BINARY_NAME as in its own program,
// and adds one that its program hides: argocd-health reads objects and tells what a health script says of them.
//
// The whole program cannot be built from modules alone, so only these parts are linked.
package main

import (
	"fmt"
	"os"

	appcontroller "github.com/argoproj/argo-cd/v3/cmd/argocd-application-controller/commands"
	reposerver "github.com/argoproj/argo-cd/v3/cmd/argocd-repo-server/commands"
	"github.com/argoproj/argo-cd/v3/util/lua"
	"github.com/spf13/cobra"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"sigs.k8s.io/yaml"
)

func main() {
	commands := map[string]func() *cobra.Command{
		"argocd-application-controller": appcontroller.NewCommand,
		"argocd-repo-server":            reposerver.NewCommand,
		"argocd-health":                 healthCommand,
	}
	name := os.Getenv("ARGOCD_BINARY_NAME")
	command, known := commands[name]
	if !known {
		fmt.Fprintf(os.Stderr, "ARGOCD_BINARY_NAME is %q: it must be argocd-application-controller, argocd-repo-server or argocd-health\n", name)
		os.Exit(2)
	}
	if command().Execute() != nil {
		os.Exit(1)
	}
}

// healthCommand prints "STATUS<tab>MESSAGE" for every object, with the standard Lua libraries off, as Argo CD has them
// for the scripts of argocd-cm.
func healthCommand() *cobra.Command {
	return &cobra.Command{
		Use:          "argocd-health SCRIPT OBJECT...",
		Args:         cobra.MinimumNArgs(2),
		SilenceUsage: true,
		RunE: func(_ *cobra.Command, args []string) error {
			script, err := os.ReadFile(args[0])
			if err != nil {
				return err
			}
			for _, path := range args[1:] {
				text, err := os.ReadFile(path)
				if err != nil {
					return err
				}
				object := &unstructured.Unstructured{}
				if err := yaml.Unmarshal(text, &object.Object); err != nil {
					return fmt.Errorf("%s: %w", path, err)
				}
				health, err := lua.VM{UseOpenLibs: false}.ExecuteHealthLua(object, string(script))
				if err != nil {
					return fmt.Errorf("%s: %w", path, err)
				}
				fmt.Printf("%s\t%s\n", health.Status, health.Message)
			}
			return nil
		},
	}
}
