import { afterAll, beforeAll, expect, test } from '@jest/globals';
import { execFile } from 'node:child_process';
import { existsSync } from 'node:fs';
import { mkdir, mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { promisify } from 'node:util';
import type { Shell } from './scripts.ts';

const execFileAsync = promisify(execFile);
const program = new URL('../main.ts', import.meta.url).pathname;

/** The working folder of the shells, with a folder `manifests` and a program `kubus`. */
let folder: string;
beforeAll(async () => {
  folder = await mkdtemp(join(tmpdir(), 'kubus-completion-'));
  const run = `#!/bin/sh\nexec '${process.execPath}' --disable-warning=ExperimentalWarning '${program}' "$@"\n`;
  await writeFile(join(folder, 'kubus'), run, { mode: 0o755 });
  await mkdir(join(folder, 'manifests'));
});
afterAll(() => rm(folder, { recursive: true, force: true }));

/** How each shell completes the line in $1 as its user sees it. */
const completing: Readonly<Record<Shell, string>> = {
  bash: `
    source <(kubus completion bash)
    read -ra COMP_WORDS <<<"\${1//=/ = }"; COMP_CWORD=$((\${#COMP_WORDS[@]} - 1))
    _kubus
    # As readline does with what the function leaves to files.
    ((\${#COMPREPLY[@]} > 0)) || COMPREPLY=($(compgen -f -- "\${COMP_WORDS[COMP_CWORD]}"))
    printf '%s\\n' "\${COMPREPLY[@]}"`,
  // In a terminal of its own: its completion exists only there.
  zsh: `
    zmodload zsh/zpty
    zpty inner zsh -f -i
    zpty -w inner 'autoload -Uz compinit; compinit -u -D; source <(kubus completion zsh)'
    zpty -w inner 'show() { zle complete-word; print -r -- "$BUFFER" >found; exit }; zle -N show; bindkey "^I" show; echo rea""dy'
    said=
    until [[ $said == *ready* ]]; do zpty -r inner part || exit 1; said+=$part; done
    zpty -w -n inner "$1"$'\\t'
    while zpty -r inner part; do :; done
    read -r line <found
    print -r -- \${line##* }`,
  fish: `
    kubus completion fish | source
    complete -C "$argv[1]"`,
};

async function complete(shell: Shell, line: string): Promise<string[]> {
  const file = join(folder, `complete.${shell}`);
  await writeFile(file, completing[shell]);
  const flags = { bash: ['--norc'], zsh: ['-f'], fish: ['--no-config'] }[shell];
  const env = { ...process.env, PATH: `${folder}:${process.env['PATH'] ?? ''}`, HOME: folder, TERM: 'xterm' };
  const { stdout } = await execFileAsync(shell, [...flags, file, line], { cwd: folder, env });
  return stdout.trim().split('\n');
}

const installed = (shell: Shell) =>
  (process.env['PATH'] ?? '').split(':').some((one) => existsSync(join(one, shell))) ? test : test.skip;

for (const shell of ['bash', 'zsh', 'fish'] as const) {
  installed(shell)(`${shell} completes commands, values and files`, async () => {
    expect(await complete(shell, 'kubus statu')).toEqual(['status']);
    expect(await complete(shell, 'kubus up --log-level deb')).toEqual(['debug']);
    expect(await complete(shell, 'kubus up --log-level=deb')).toEqual([
      shell === 'bash' ? 'debug' : '--log-level=debug',
    ]);
    expect((await complete(shell, 'kubus up --manifests man')).map((one) => one.replace(/\/$/, ''))).toEqual([
      'manifests',
    ]);
  });
}
