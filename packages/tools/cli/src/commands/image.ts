import { formatBytes } from '@kubus/images';
import type { Command } from 'commander';
import { imageDetails, imageDocument, imageTable } from '../images/image-documents.ts';
import { fullImageName } from '../images/image-names.ts';
import { loadImages } from '../images/load-image.ts';
import { type NodeRuntime, nodeRuntime } from '../images/node-runtime.ts';
import { pullForNode } from '../images/pull-image.ts';
import { removeImage } from '../images/remove-image.ts';
import { connectNode } from '../node/node-link.ts';
import { printKubusDocument } from '../output/documents.ts';
import { outputOption, print } from '../output/output.ts';
import { UserError } from '../user-error.ts';

interface OutputOptions {
  output?: 'json' | 'yaml';
}

export function addImage(program: Command): void {
  const image = program.command('image').description('manage the images of a node');
  image
    .command('load')
    .argument('<file>', 'OCI or docker archive, may be compressed with gzip; "-": standard input')
    .description('import the images of an archive, without a registry')
    .option('--name <name>', 'name of the image, instead of that in the archive')
    .addOption(outputOption())
    .action(async (file: string, options: OutputOptions & { name?: string }, command: Command) => {
      const { names, bytes } = await loadImages(await runtimeOf(command), file, options.name);
      if (options.output !== undefined) printKubusDocument('LoadedImages', { names, bytes }, options.output);
      else for (const name of names) print(`loaded ${name} (${formatBytes(bytes)})`);
    });
  image
    .command('pull')
    .argument('<name>', 'as in a pod, such as busybox:1.36 or localhost:5000/app')
    .description('pull an image from its registry, with the credentials and limits of the node')
    .addOption(outputOption())
    .action(async (name: string, options: OutputOptions, command: Command) => {
      await pull(command, fullImageName(name), options.output);
    });
  image
    .command('ls')
    .description('list the images of the node')
    .addOption(outputOption())
    .action(async (options: OutputOptions, command: Command) => {
      const { images = [] } = await (await runtimeOf(command)).call('ListImages', {});
      const documents = images.map(imageDocument);
      if (options.output === undefined) print(imageTable(documents));
      else printKubusDocument('ImageList', { items: documents }, options.output);
    });
  image
    .command('rm')
    .argument('<name...>', 'names or ids of images')
    .description('remove names of images, and each image with its last name')
    .option('--force', 'also an image that containers use, or that the node needs')
    .addOption(outputOption())
    .action(async (names: string[], options: OutputOptions & { force?: boolean }, command: Command) => {
      const runtime = await runtimeOf(command);
      for (const name of names) {
        await removeImage(runtime, name, options.force === true);
        if (options.output === undefined) print(`image ${name} is removed`);
      }
      if (options.output !== undefined) printKubusDocument('RemovedImages', { names }, options.output);
    });
  image
    .command('inspect')
    .argument('<name>', 'name or id of an image')
    .description('show names, digests, platform and configuration of an image')
    .addOption(outputOption().default('json'))
    .action(async (name: string, options: Required<OutputOptions>, command: Command) => {
      const status = await (await runtimeOf(command)).call('ImageStatus', { image: { image: name }, verbose: true });
      if (status.image === undefined) throw new UserError(`image ${name} does not exist on this node`);
      printKubusDocument('ImageDescription', imageDetails(status), options.output);
    });
}

async function pull(command: Command, name: string, output: OutputOptions['output']): Promise<void> {
  const { node } = command.optsWithGlobals<{ node: string }>();
  const { socket } = await runtimeOf(command);
  const { imageRef, image, pullMs } = await pullForNode(await connectNode(node), socket, name);
  const bytes = Number(image?.size ?? 0);
  if (output !== undefined) {
    printKubusDocument('PulledImage', { name, id: imageRef, bytes, seconds: pullMs / 1000 }, output);
  } else print(`pulled ${name} (${formatBytes(bytes)}) in ${(pullMs / 1000).toFixed(1)} s`);
}

function runtimeOf(command: Command): Promise<NodeRuntime> {
  return nodeRuntime(command.optsWithGlobals<{ node: string }>().node);
}
