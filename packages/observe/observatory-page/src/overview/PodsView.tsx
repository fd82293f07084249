import type { ReactNode } from 'react';
import { usePods, useRecording } from '../api/documents.ts';
import { useRoute } from '../route/use-route.ts';
import { Reading } from '../shell/Reading.tsx';
import { PodTable } from './PodTable.tsx';

/** All pods of the recording, with links to their timelines. */
export function PodsView(): ReactNode {
  const { recording } = useRoute();
  const pods = usePods(recording);
  const document = useRecording(recording);
  return (
    <>
      <h1 className="visually-hidden">Pods</h1>
      <Reading of={pods} what="the pods">
        {(all) => <PodTable pods={all} range={undefined} now={document.data?.lastAt ?? 0} />}
      </Reading>
    </>
  );
}
