import type { Pod, PodRef } from '@kubus/contracts';
import type { ContainerRun, PodFiles } from '../src/index.ts';

/** The pods' files, as the test says that they are. */
export class ScriptedFiles implements PodFiles {
  /** What was removed. */
  readonly undone: string[] = [];
  /** `<container>/<attempt>` to what its run has left. */
  readonly messages = new Map<string, string>();
  /** Path to the end of the log there. */
  readonly logs = new Map<string, string>();
  readonly indexes = new Map<string, number>();
  /** What the removal of a pod's files fails with. */
  failure: Error | undefined;

  /** What making the pod's folder, or a container's, fails with. */
  folderFailure: Error | undefined;
  logFolderFailure: Error | undefined;

  makeFolder(): Promise<void> {
    return this.folderFailure === undefined ? Promise.resolve() : Promise.reject(this.folderFailure);
  }

  logFolder({ uid }: PodRef): string {
    return `/logs/${uid}`;
  }

  makeLogFolder(): Promise<void> {
    return this.logFolderFailure === undefined ? Promise.resolve() : Promise.reject(this.logFolderFailure);
  }

  linkLog(): Promise<void> {
    return Promise.resolve();
  }

  writeHostsFile({ metadata }: Pod): Promise<string> {
    return Promise.resolve(`/hosts/${metadata.uid}`);
  }

  readResolvConf(): Promise<string | undefined> {
    return Promise.resolve(undefined);
  }

  logIndexes(): Promise<ReadonlyMap<string, number>> {
    return Promise.resolve(this.indexes);
  }

  readLogEnd(path: string): Promise<string | undefined> {
    return Promise.resolve(this.logs.get(path));
  }

  makeTerminationLog({ uid }: PodRef, container: string, attempt: number): Promise<string> {
    return Promise.resolve(`/messages/${uid}/${container}/${attempt}`);
  }

  readTerminationLog(_pod: PodRef, { name, attempt }: ContainerRun): Promise<string | undefined> {
    return Promise.resolve(this.messages.get(`${name}/${attempt}`));
  }

  removeRun(_pod: PodRef, { name, attempt }: ContainerRun): Promise<void> {
    this.undone.push(`run ${name}/${attempt}`);
    return Promise.resolve();
  }

  remove({ uid }: PodRef): Promise<void> {
    if (this.failure !== undefined) return Promise.reject(this.failure);
    this.undone.push(`files ${uid}`);
    return Promise.resolve();
  }
}
