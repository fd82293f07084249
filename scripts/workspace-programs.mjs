// The sources of the workspace as programs of the TypeScript compiler. Packages import each other's sources, so that a
// program for each package would read and check most of the workspace again: packages with the same compiler options are
// one program.
import { globSync } from 'node:fs';
import { join } from 'node:path';
import ts from 'typescript';

/**
 * One program for each set of compiler options. Those with the fewest global types come first, since packages that may
 * not use Node.js are imported by others that do.
 *
 * @param {string} root the workspace's folder
 * @returns {ts.Program[]}
 * @throws {Error} when a tsconfig.json cannot be read
 */
export function workspacePrograms(root) {
  const groups = new Map();
  for (const file of globSync('{proto,e2e,bench,packages/*/*,services/*,charts/render}{,/test}/tsconfig{,.pure}.json', {
    cwd: root,
  }).sort()) {
    const { options, fileNames } = readConfig(join(root, file));
    const { configFilePath: _, ...compared } = options;
    const key = JSON.stringify(compared);
    const group = groups.get(key) ?? { options, fileNames: new Set() };
    for (const name of fileNames) group.fileNames.add(name);
    groups.set(key, group);
  }
  return [...groups.values()]
    .sort((a, b) => (a.options.types?.length ?? 0) - (b.options.types?.length ?? 0))
    .map(({ options, fileNames }) => ts.createProgram({ rootNames: [...fileNames], options }));
}

function readConfig(path) {
  const fail = (diagnostic) => {
    throw new Error(`${path}: ${ts.flattenDiagnosticMessageText(diagnostic.messageText, '\n')}`);
  };
  const parsed = ts.getParsedCommandLineOfConfigFile(
    path,
    {},
    { ...ts.sys, onUnRecoverableConfigFileDiagnostic: fail },
  );
  parsed.errors.forEach(fail);
  return parsed;
}
