import { NodeLauncher, nodeDir, nodeSettingsSchema, settingsFile } from '@kubus/launcher';
import { toError } from '@kubus/ports';
import { createLogger } from '@kubus/service-kit';
import type { Command } from 'commander';
import { readFile } from 'node:fs/promises';

/** The process behind `up`: it runs in the node's network namespace and keeps the node's processes running. */
export function addLauncher(program: Command): void {
  program.command('launcher', { hidden: true }).action(async (_options: object, command: Command) => {
    const { node } = command.optsWithGlobals<{ node: string }>();
    const dir = nodeDir(node);
    const settings = nodeSettingsSchema.parse(JSON.parse(await readFile(settingsFile(dir), 'utf8')));
    const logger = createLogger({ service: 'launcher', instance: 'launcher-0', level: settings.logLevel });
    const launcher = new NodeLauncher({ dir, settings, logger, onStep: (step) => logger.info({ step }, step) });
    const ended = new Promise<void>((resolve) => {
      for (const signal of ['SIGTERM', 'SIGINT'] as const) process.once(signal, () => resolve());
    });
    try {
      await launcher.start();
    } catch (error) {
      logger.error({ err: toError(error), failed: toError(error).message }, 'the node can not be started');
      throw error;
    }
    logger.info({ started: true }, 'the node is started');
    await ended;
    await launcher.stop();
  });
}
