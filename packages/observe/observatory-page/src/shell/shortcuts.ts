import { viewList } from './view-list.ts';
import type { View } from '../route/route.ts';

export type Shortcut =
  { readonly do: 'go'; readonly view: View } | { readonly do: 'wait' | 'help' | 'filter' | 'list' | 'theme' | 'close' };

/**
 * The action of a key outside of fields; undefined if it has none.
 *
 * @param waiting whether the previous key was `g`
 */
export function shortcutOf(key: string, waiting: boolean): Shortcut | undefined {
  if (waiting) {
    const entry = viewList.find((one) => one.key === key);
    return entry && { do: 'go', view: entry.view };
  }
  switch (key) {
    case 'g':
      return { do: 'wait' };
    case '?':
      return { do: 'help' };
    case '/':
      return { do: 'filter' };
    case 'ArrowDown':
    case 'j':
      return { do: 'list' };
    case 't':
      return { do: 'theme' };
    case 'Escape':
      return { do: 'close' };
    default:
      return undefined;
  }
}
