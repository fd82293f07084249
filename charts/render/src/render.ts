import { hasErrno, toError } from '@kubus/ports';
import { Ajv, type ErrorObject, type ValidateFunction } from 'ajv';
import { execFile } from 'node:child_process';
import { readFile, readdir } from 'node:fs/promises';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { parse, parseAllDocuments } from 'yaml';
import * as z from 'zod';
import { ChartError } from './errors.ts';
import { helmTemplate } from './helm.ts';
import { type Manifest, manifestOf } from './manifest-check.ts';
import { type Values, coalesce } from './values.ts';

/** A chart that was read from its folder. */
export interface Chart {
  readonly folder: string;
  readonly about: { readonly name: string; readonly version: string; readonly appVersion: string };
  readonly defaults: Values;
  /** Checks merged values. */
  readonly schema: ValidateFunction;
  /** Text by path, such as `kubus/templates/rbac.yaml`. */
  readonly templates: Readonly<Record<string, string>>;
  /** What templates reach as .Files: text by path below the chart. */
  readonly files: Readonly<Record<string, string>>;
}

/** How a chart is rendered. Defaults: no values, release and namespace `kubus`. */
export interface RenderOptions {
  readonly values?: Values;
  readonly release?: string;
  readonly namespace?: string;
}

/** The manifests and notes of a rendered chart. */
export interface Rendered {
  readonly manifests: readonly Manifest[];
  readonly notes: string;
}

const aboutSchema = z.object({ name: z.string(), version: z.string(), appVersion: z.string() });
const renderedSchema = z.record(z.string(), z.string());

/** Reads a chart; its templates and files must be text files. */
export async function readChart(folder: string): Promise<Chart> {
  const text = (path: string) => readFile(join(folder, path), 'utf8');
  const about = aboutSchema.parse(parse(await text('Chart.yaml')));
  const defaults = parse(await text('values.yaml')) as Values;
  const schema = new Ajv({ allErrors: true }).compile(JSON.parse(await text('values.schema.json')) as object);
  const templates = Object.entries(await readTexts(folder, 'templates'));
  return {
    folder,
    about,
    defaults,
    schema,
    templates: Object.fromEntries(templates.map(([path, content]) => [join(about.name, path), content])),
    files: await readTexts(folder, 'files'),
  };
}

async function readTexts(folder: string, part: string): Promise<Record<string, string>> {
  const entries = await readdir(join(folder, part), { recursive: true, withFileTypes: true });
  const paths = entries.filter((entry) => entry.isFile()).map(({ parentPath, name }) => join(parentPath, name));
  const texts = paths.map(async (path) => [path.slice(folder.length + 1), await readFile(path, 'utf8')] as const);
  return Object.fromEntries(await Promise.all(texts));
}

/** The cluster that a chart is rendered for, as a template sees it. */
const kubeVersion = { Version: 'v1.33.0', Major: '1', Minor: '33' };
const apiVersions = ['v1', 'apps/v1', 'monitoring.coreos.com/v1'];

/**
 * Renders a chart with `helm template` where a helm is in the PATH, and else as it does, with native/render-chart.go. The notes, which
 * `helm template` does not have, are always rendered by the latter.
 *
 * @throws ChartError `BadValues` that names every invalid field; `BadTemplate` with the template engine's message; `NoRenderer`.
 */
export async function renderChart(
  chart: Chart,
  { values = {}, release = 'kubus', namespace = 'kubus' }: RenderOptions = {},
): Promise<Rendered> {
  const merged = coalesce(chart.defaults, values);
  if (!chart.schema(merged)) {
    const wrong = (chart.schema.errors ?? []).map(describe).join('; ');
    throw new ChartError('BadValues', wrong);
  }
  const { name, version, appVersion } = chart.about;
  const texts = await runRenderer({
    templates: chart.templates,
    files: chart.files,
    context: {
      Values: merged,
      Chart: { Name: name, Version: version, AppVersion: appVersion },
      Release: { Name: release, Namespace: namespace, Service: 'Helm', Revision: 1, IsInstall: true, IsUpgrade: false },
    },
    kubeVersion,
    apiVersions,
  });
  const notes = `${name}/templates/NOTES.txt`;
  const asked = { folder: chart.folder, values, release, namespace, kubeVersion: kubeVersion.Version, apiVersions };
  const byHelm = await helmTemplate(asked);
  const manifests =
    byHelm === undefined
      ? Object.entries(texts).flatMap(([path, text]) => (path === notes ? [] : documentsOf(path, text)))
      : documentsOf('helm template', byHelm);
  return { manifests, notes: texts[notes] ?? '' };
}

function describe({ instancePath, message = 'is wrong', params }: ErrorObject): string {
  const { additionalProperty } = params as { additionalProperty?: string };
  const path = instancePath.slice(1).replaceAll('/', '.');
  if (additionalProperty === undefined) return `${path === '' ? 'values' : path}: ${message}`;
  return `${path === '' ? '' : `${path}.`}${additionalProperty}: the chart has no such value`;
}

async function runRenderer(input: object): Promise<Record<string, string>> {
  const running = promisify(execFile)('render-chart', { maxBuffer: 64 * 1024 * 1024 });
  running.child.stdin?.on('error', () => undefined).end(JSON.stringify(input));
  try {
    return renderedSchema.parse(JSON.parse((await running).stdout));
  } catch (error) {
    if (hasErrno(error, 'ENOENT')) {
      const message = 'render-chart is not in PATH: run "./kubus test", which builds it in .kubus/tools/bin';
      throw new ChartError('NoRenderer', message, { cause: error });
    }
    const said = (error as { stderr?: string }).stderr?.trim() ?? '';
    throw new ChartError('BadTemplate', said === '' ? toError(error).message : said, { cause: error });
  }
}

function documentsOf(path: string, text: string): Manifest[] {
  return parseAllDocuments(text, { uniqueKeys: true }).flatMap((document) => {
    const [error] = document.errors;
    if (error !== undefined) throw new ChartError('BadTemplate', `${path}: ${error.message}`, { cause: error });
    const value: unknown = document.toJS();
    return value === null || value === undefined ? [] : [manifestOf(value)];
  });
}
