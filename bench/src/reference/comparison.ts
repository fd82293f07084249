import { total } from '../process-usage.ts';
import { type Figure, formatTable, show } from '../report.ts';
import { median } from '../subject.ts';
import type { AgentRun, SeriesSizes } from './agent-series.ts';

/** What was measured of each agent, in the same run of the benchmark. */
export interface Compared {
  readonly kubelet: readonly AgentRun[];
  readonly processes: readonly AgentRun[];
  readonly hosted: readonly AgentRun[];
}

/** A figure of one run, and the goals: the share of the reference's figure, or an absolute limit. */
interface Row {
  readonly name: string;
  readonly unit: Figure['unit'];
  readonly of: (run: AgentRun) => number;
  readonly goal: { readonly processes: Limit; readonly hosted: Limit };
}
type Limit = { readonly ratio: number } | { readonly most: number };

const ratio = (value: number): Limit => ({ ratio: value });
const most = (value: number): Limit => ({ most: value });

function rowsOf({ burst, full }: SeriesSizes): Row[] {
  const goal = (processes: Limit, hosted: Limit) => ({ processes, hosted });
  return [
    {
      ...{ name: 'create to Ready, one at a time, p50', unit: 's' },
      of: ({ single }) => median(single.created) / 1_000,
      goal: goal(ratio(1), ratio(0.85)),
    },
    {
      ...{ name: 'the same with volumes', unit: 's' },
      of: ({ singleWithVolumes }) => median(singleWithVolumes.created) / 1_000,
      goal: goal(ratio(0.45), ratio(0.4)),
    },
    {
      ...{ name: 'delete to removed, one at a time, p50', unit: 's' },
      of: ({ single }) => median(single.removed) / 1_000,
      goal: goal(ratio(0.2), ratio(0.15)),
    },
    {
      ...{ name: `${burst} at once, last Ready`, unit: 's' },
      of: (run) => run.burst.created / 1_000,
      goal: goal(ratio(1.05), ratio(0.95)),
    },
    {
      ...{ name: `${full} at once, last Ready`, unit: 's' },
      of: (run) => run.full.created / 1_000,
      goal: goal(ratio(1), ratio(0.9)),
    },
    {
      ...{ name: `${full} at once with volumes, last Ready`, unit: 's' },
      of: ({ fullWithVolumes }) => fullWithVolumes.created / 1_000,
      goal: goal(ratio(0.9), ratio(0.8)),
    },
    {
      ...{ name: `${full} deleted at once, last removed`, unit: 's' },
      of: (run) => run.full.removed / 1_000,
      goal: goal(ratio(0.8), ratio(0.7)),
    },
    {
      ...{ name: `agent CPU per pod started, ${full} at once`, unit: 'ms' },
      of: (run) => total(run.full.cpuStart),
      goal: goal(ratio(2), ratio(1)),
    },
    {
      ...{ name: 'the same with volumes', unit: 'ms' },
      of: ({ fullWithVolumes }) => total(fullWithVolumes.cpuStart),
      goal: goal(ratio(2), ratio(1)),
    },
    {
      ...{ name: `agent CPU per pod ended, ${full} at once`, unit: 'ms' },
      of: (run) => total(run.full.cpuEnd),
      goal: goal(ratio(2), ratio(1)),
    },
    {
      ...{ name: 'agent CPU per pod started and ended, one at a time', unit: 'ms' },
      of: ({ singleCpu }) => total(singleCpu),
      goal: goal(ratio(3), ratio(1.5)),
    },
    {
      ...{ name: `memory with ${full} pods (PSS)`, unit: 'MiB' },
      of: ({ memory }) => total(memory),
      goal: goal(most(350), most(160)),
    },
    {
      ...{ name: `idle CPU with ${full} pods`, unit: '%' },
      of: ({ idle }) => total(idle),
      goal: goal(most(1), most(1)),
    },
  ];
}

/** Medians of all runs as a table of Markdown, with each form's share of the reference's figure. */
export function formatComparison(compared: Compared, sizes: SeriesSizes): string {
  const rows = rowsOf(sizes).map(({ name, unit, of, goal }) => {
    const value = (form: keyof Compared) => median(compared[form].map(of));
    const reference = value('kubelet');
    const cells = (['processes', 'hosted'] as const).flatMap((form) => [
      show(value(form), unit),
      (value(form) / reference).toFixed(2),
      verdict(value(form), reference, goal[form], unit),
    ]);
    return [name, show(reference, unit), ...cells];
  });
  const header = ['figure', 'kubelet', 'processes', 'ratio', 'goal', 'hosted', 'ratio', 'goal'];
  return formatTable(header, rows);
}

function verdict(value: number, reference: number, limit: Limit, unit: Figure['unit']): string {
  const [highest, text] =
    'ratio' in limit ? [limit.ratio * reference, `${limit.ratio} x`] : [limit.most, show(limit.most, unit)];
  return `${text}: ${value <= highest ? 'met' : 'missed'}`;
}
