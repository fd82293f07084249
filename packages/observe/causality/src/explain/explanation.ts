/** Why a pod is as it is. */
export interface Explanation {
  readonly state: 'waiting' | 'failed' | 'ending' | 'ended' | 'unready' | 'ready';
  /** One paragraph for people. */
  readonly text: string;
  /** That manifests have other pods with its name or UID, which are not run. */
  readonly notice?: string;
  /** Where it is said: the type of the message, without its version, and a text of it; the newest such message counts. */
  readonly says: { readonly type: string; readonly text?: string };
}
