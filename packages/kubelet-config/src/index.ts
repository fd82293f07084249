export { type CommandLine, parseCommandLine } from './command-line.ts';
export { KubeletConfigError } from './errors.ts';
export type { KubeletConfiguration } from './field-table.ts';
export type { KubeletFlags } from './flag-table.ts';
export { helpText } from './help.ts';
export type { Note } from './notes.ts';
export { type ConfigFile, type KubeletSettings, type Machine, type Sources, resolve } from './resolve.ts';
export { settingsTables } from './tables.ts';
export { KUBERNETES_VERSION, kubeletVersion } from './version.ts';
