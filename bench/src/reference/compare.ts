import { type SeriesSizes, measureAgent } from './agent-series.ts';
import { type Agent, startKubelet, startKubus } from './agents.ts';
import type { Compared } from './comparison.ts';
import { ControlPlane } from './control-plane.ts';

/** Paths of the reference's programs. */
export interface ReferencePrograms {
  readonly kubelet: string;
  readonly apiserver: string;
  readonly etcd: string;
}

/** Measures the reference kubelet and both forms of Kubus in turn, as members of the same cluster. */
export async function compareWithReference(
  programs: ReferencePrograms,
  sizes: SeriesSizes,
  say: (text: string) => void,
): Promise<Compared> {
  const plane = await ControlPlane.start(programs);
  const measured = async (name: string, start: () => Promise<Agent>) => {
    say(`beside the reference: ${name}`);
    const agent = await start();
    try {
      return await measureAgent(plane, agent, sizes, say);
    } finally {
      await agent.stop();
    }
  };
  try {
    return {
      kubelet: await measured('the kubelet', () => startKubelet(plane, programs.kubelet)),
      processes: await measured('separate processes', () => startKubus(plane, '--placement', 'separate')),
      hosted: await measured('hosted in one process', () => startKubus(plane, '--placement', 'hosted')),
    };
  } finally {
    await plane.stop();
  }
}
