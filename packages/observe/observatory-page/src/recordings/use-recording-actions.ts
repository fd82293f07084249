import { useMutation, useQueryClient } from '@tanstack/react-query';
import { address } from '../api/address.ts';
import { useApi } from '../api/api-context.ts';

export type TraceFormat = 'otlp' | 'chrome' | 'jsonl';

export type RecordingAction =
  | { readonly do: 'start' | 'stop' | 'delete' | 'download'; readonly name: string }
  | { readonly do: 'trace'; readonly name: string; readonly format: TraceFormat }
  | { readonly do: 'upload'; readonly name: string; readonly file: File };

const fileEndings: Readonly<Record<TraceFormat, string>> = { otlp: 'otlp.json', chrome: 'trace.json', jsonl: 'jsonl' };

/** The actions on recordings. One at a time; the list is read again afterwards. */
export function useRecordingActions() {
  const api = useApi();
  const queries = useQueryClient();
  return useMutation({
    mutationFn: async (action: RecordingAction): Promise<void> => {
      const path = (...more: string[]): string => address(['recordings', action.name, ...more]);
      switch (action.do) {
        case 'start':
          return api.post('/recordings', { name: action.name });
        case 'stop':
          return api.post(path('stop'));
        case 'delete':
          return api.remove(path());
        case 'upload':
          return api.upload(path('file'), action.file);
        case 'download': {
          save(await api.download(path('file')), `${fileName(action.name)}.kubus`);
          return;
        }
        case 'trace': {
          const trace = address(['recordings', action.name, 'trace'], { format: action.format });
          save(await api.download(trace), `${fileName(action.name)}.${fileEndings[action.format]}`);
          return;
        }
      }
    },
    onSettled: () => queries.invalidateQueries({ predicate: ({ queryKey: [path] }) => path === '/recordings' }),
  });
}

function fileName(recording: string): string {
  return recording.replace(/^~/, '');
}

/** Saves bytes as a file for the user. */
function save(bytes: Blob, name: string): void {
  const link = document.createElement('a');
  link.href = URL.createObjectURL(bytes);
  link.download = name;
  link.click();
  URL.revokeObjectURL(link.href);
}
