import { KubusError, toError } from '@kubus/ports';
import * as z from 'zod';
import { CNI_VERSIONS, type CniVersion, chooseVersion } from './cni-version.ts';
import { firstIssue, jsonObjectSchema } from './json.ts';

/** One plugin of a chain: its configuration as in the file. */
const pluginConfigSchema = z.intersection(
  jsonObjectSchema,
  z.looseObject({
    /** The program's name in the plugin folders. */
    type: z.string().regex(/^(?!\.{1,2}$)[^/\0]+$/, 'must be the name of a program, not a path'),
    /** What the plugin accepts from the runtime: it gets `runtimeConfig.X` only where `capabilities.X` is true. */
    capabilities: z.record(z.string(), z.boolean()).optional(),
  }),
);

export type PluginConfig = z.infer<typeof pluginConfigSchema>;

const networkName = z
  .string()
  .regex(
    /^[a-zA-Z0-9][a-zA-Z0-9_.-]*$/,
    'must start with a letter or digit and contain only letters, digits, "_", "." and "-"',
  );

/** A network as it is run and recorded: the content of one file, checked, with its version chosen. */
export const networkConfigSchema = z.object({
  /** Name of the file (without its folder) that it was read from. */
  file: z.string(),
  name: networkName,
  cniVersion: z.enum(CNI_VERSIONS),
  disableCheck: z.boolean(),
  disableGC: z.boolean(),
  plugins: z.array(pluginConfigSchema).min(1),
});

export type NetworkConfig = z.infer<typeof networkConfigSchema>;

/** Thrown when a configuration file cannot be used. The message names the file and, where there is one, the field. */
export class NetworkConfigError extends KubusError {
  constructor(file: string, problem: string, options: { field?: string; cause?: unknown } = {}) {
    const field = options.field === undefined || options.field === '' ? '' : `${options.field}: `;
    super('CniConfigInvalid', `${file}: ${field}${problem}`, {
      cause: options.cause,
      context: { file, field: options.field },
    });
  }
}

/** Older files write these as "true" and "false" (libcni accepts both). */
const switchSchema = z
  .union([z.boolean(), z.enum(['true', 'false']).transform((text) => text === 'true')])
  .optional()
  .transform((value) => value ?? false);

const fileSchema = z.object({
  cniVersion: z.string().optional(),
  cniVersions: z.array(z.string()).default([]),
  name: networkName,
  disableCheck: switchSchema,
  disableGC: switchSchema,
});

const pluginsSchema = z.object({ plugins: z.array(pluginConfigSchema).min(1, 'is empty') });

/**
 * Reads a network configuration file (CNI SPEC.md, section 1): `.conflist` contains a list of plugins; `.conf` and `.json`
 * contain one plugin, which becomes a list of one.
 *
 * @throws NetworkConfigError naming the file and the field.
 */
export function parseNetworkConfig(file: string, content: string): NetworkConfig {
  let json: unknown;
  try {
    json = JSON.parse(content);
  } catch (error) {
    throw new NetworkConfigError(file, `is not JSON: ${toError(error).message}`, { cause: error });
  }
  const isList = file.endsWith('.conflist');
  const raw = valid(file, jsonObjectSchema, json);
  if (!isList && !('type' in raw) && 'plugins' in raw) {
    throw new NetworkConfigError(file, 'is missing; a file that contains "plugins" must end in .conflist', {
      field: 'type',
    });
  }
  const { name, cniVersion, cniVersions, disableCheck, disableGC } = valid(file, fileSchema, raw);
  const plugins = isList ? valid(file, pluginsSchema, raw).plugins : [valid(file, pluginConfigSchema, raw)];
  const offered = [...(cniVersion ? [cniVersion] : []), ...cniVersions];
  return { file, name, cniVersion: versionOf(file, offered), disableCheck, disableGC, plugins };
}

function versionOf(file: string, offered: readonly string[]): CniVersion {
  const chosen = chooseVersion(offered);
  if (chosen === undefined) {
    throw new NetworkConfigError(
      file,
      `offers ${offered.map((offer) => `"${offer}"`).join(', ')}; supported are ${CNI_VERSIONS.join(', ')}`,
      { field: 'cniVersion' },
    );
  }
  return chosen;
}

function valid<Output>(file: string, schema: z.ZodType<Output>, value: unknown): Output {
  const parsed = schema.safeParse(value);
  if (!parsed.success) {
    const { field, problem } = firstIssue(parsed.error);
    throw new NetworkConfigError(file, problem, { field, cause: parsed.error });
  }
  return parsed.data;
}

/** A file of the configuration folder as it was read: its content, or why it could not be read. */
export type ConfigFile =
  { readonly name: string; readonly content: string } | { readonly name: string; readonly unreadable: string };

/** A file that was skipped, and why. */
export interface BrokenConfig {
  readonly file: string;
  readonly error: string;
}

export interface ChosenConfig {
  /** The network of the first valid file in name order. */
  readonly network: NetworkConfig | undefined;
  /** The broken files, in name order, including those after the chosen one. */
  readonly broken: readonly BrokenConfig[];
}

/** Whether a file name in the configuration folder is that of a network configuration (the suffixes that containerd accepts). */
export function isConfigFileName(name: string): boolean {
  return /\.(conf|conflist|json)$/.test(name);
}

/** Chooses as containerd does: the first valid file in name order; a broken one is skipped and reported. */
export function chooseConfig(files: readonly ConfigFile[]): ChosenConfig {
  let network: NetworkConfig | undefined;
  const broken: BrokenConfig[] = [];
  const inOrder = files
    .filter((file) => isConfigFileName(file.name))
    .toSorted((a, b) => (a.name < b.name ? -1 : Number(a.name > b.name)));
  for (const file of inOrder) {
    if ('unreadable' in file) {
      broken.push({ file: file.name, error: `${file.name}: cannot be read: ${file.unreadable}` });
      continue;
    }
    try {
      const parsed = parseNetworkConfig(file.name, file.content);
      network ??= parsed;
    } catch (error) {
      broken.push({ file: file.name, error: toError(error).message });
    }
  }
  return { network, broken };
}

/** The capability arguments that the plugin declares. */
export function declaredCapabilities(plugin: PluginConfig): readonly string[] {
  return Object.entries(plugin.capabilities ?? {})
    .filter(([, declared]) => declared)
    .map(([name]) => name);
}
