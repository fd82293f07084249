// render-chart: runs the templates of a Helm chart, as `helm template` does: Go's own text/template, the Sprig functions, and what
// Helm adds to them. Reads one JSON document from standard input, writes {path: text} to standard output:
//
//	{"templates": {path: text}, "files": {path: text}, "context": {"Values", "Chart", "Release"},
//	 "kubeVersion": {"Version", "Major", "Minor"}, "apiVersions": [...]}
//
// Merging values and checking them against the chart's schema is its caller's part (src/render.ts).
// Source: helm.sh/docs/chart_template_guide, /docs/howto/charts_tips_and_tricks.
package main

import (
	"bytes"
	"encoding/json"
	"fmt"
	"math"
	"os"
	"path"
	"strings"
	"text/template"

	"github.com/Masterminds/sprig/v3"
	"gopkg.in/yaml.v3"
)

type input struct {
	Templates   map[string]string
	Files       files
	Context     map[string]interface{}
	KubeVersion kubeVersion
	APIVersions apiVersions
}

// files is the value of .Files in templates.
type files map[string]string

// Get is empty for a file that is not there, as Helm has it.
func (f files) Get(name string) string { return f[name] }

type kubeVersion struct{ Version, Major, Minor string }

func (v kubeVersion) String() string { return v.Version }

type apiVersions []string

// Has reports whether the cluster serves that version, or that kind of it.
func (v apiVersions) Has(wanted string) bool {
	for _, one := range v {
		if one == wanted {
			return true
		}
	}
	return false
}

// Helm ends templates that include themselves without end after so many.
const deepest = 1000

func main() {
	rendered, err := render(json.NewDecoder(os.Stdin))
	if err == nil {
		err = json.NewEncoder(os.Stdout).Encode(rendered)
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
}

func render(document *json.Decoder) (map[string]string, error) {
	var in input
	if err := document.Decode(&in); err != nil {
		return nil, err
	}
	all := template.New("chart").Option("missingkey=zero")
	all.Funcs(functions(all))
	for name, text := range in.Templates {
		if _, err := all.New(name).Parse(text); err != nil {
			return nil, err
		}
	}
	rendered := map[string]string{}
	for name := range in.Templates {
		if strings.HasPrefix(path.Base(name), "_") {
			continue
		}
		context := map[string]interface{}{
			"Files":        in.Files,
			"Capabilities": map[string]interface{}{"KubeVersion": in.KubeVersion, "APIVersions": in.APIVersions},
			"Template":     map[string]interface{}{"Name": name, "BasePath": path.Dir(name)},
		}
		for key, value := range in.Context {
			context[key] = value
		}
		var text bytes.Buffer
		if err := all.ExecuteTemplate(&text, name, context); err != nil {
			return nil, err
		}
		// What missingkey=zero makes of a missing key of a map of anything.
		rendered[name] = strings.ReplaceAll(text.String(), "<no value>", "")
	}
	return rendered, nil
}

func functions(all *template.Template) template.FuncMap {
	functions := sprig.TxtFuncMap()
	// Helm removes them: a chart must not depend on the environment of the renderer.
	delete(functions, "env")
	delete(functions, "expandenv")
	depth := 0
	functions["include"] = func(name string, data interface{}) (string, error) {
		if depth++; depth > deepest {
			return "", fmt.Errorf("%s includes itself without end", name)
		}
		defer func() { depth-- }()
		var text strings.Builder
		err := all.ExecuteTemplate(&text, name, data)
		return text.String(), err
	}
	functions["tpl"] = func(source string, data interface{}) (string, error) {
		own, err := all.Clone()
		if err != nil {
			return "", err
		}
		parsed, err := own.New("tpl").Parse(source)
		if err != nil {
			return "", err
		}
		var text strings.Builder
		err = parsed.Execute(&text, data)
		return strings.ReplaceAll(text.String(), "<no value>", ""), err
	}
	functions["required"] = func(message string, value interface{}) (interface{}, error) {
		if value == nil || value == "" {
			return value, fmt.Errorf("%s", message)
		}
		return value, nil
	}
	functions["lookup"] = func(...string) map[string]interface{} { return map[string]interface{}{} }
	functions["toYaml"] = toYaml
	functions["fromYaml"] = func(text string) map[string]interface{} {
		object := map[string]interface{}{}
		if err := fromYaml(text, &object); err != nil {
			object["Error"] = err.Error()
		}
		return object
	}
	functions["fromYamlArray"] = func(text string) []interface{} {
		list := []interface{}{}
		if err := fromYaml(text, &list); err != nil {
			return []interface{}{err.Error()}
		}
		return list
	}
	return functions
}

func toYaml(value interface{}) string {
	var text bytes.Buffer
	encoder := yaml.NewEncoder(&text)
	encoder.SetIndent(2)
	if err := encoder.Encode(whole(value)); err != nil {
		return ""
	}
	return strings.TrimSuffix(text.String(), "\n")
}

// fromYaml decodes like JSON: all numbers are float64, as in values.
func fromYaml(text string, into interface{}) error {
	var value interface{}
	if err := yaml.Unmarshal([]byte(text), &value); err != nil || value == nil {
		return err
	}
	asJSON, err := json.Marshal(value)
	if err != nil {
		return err
	}
	return json.Unmarshal(asJSON, into)
}

// whole writes numbers without a fraction as such, which toYaml of Helm does and printing them does not.
func whole(value interface{}) interface{} {
	switch value := value.(type) {
	case float64:
		if value == math.Trunc(value) && math.Abs(value) < 1<<53 {
			return int64(value)
		}
	case []interface{}:
		list := make([]interface{}, len(value))
		for i, item := range value {
			list[i] = whole(item)
		}
		return list
	case map[string]interface{}:
		object := make(map[string]interface{}, len(value))
		for key, item := range value {
			object[key] = whole(item)
		}
		return object
	}
	return value
}
