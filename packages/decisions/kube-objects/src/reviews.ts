import type { Resource } from './resources.ts';

/** A kind that is never stored, such as a review. */
export interface Review extends Pick<Resource, 'group' | 'version' | 'plural' | 'singular' | 'kind'> {
  readonly namespaced?: boolean;
}

export const reviews: readonly Review[] = [
  {
    group: 'authentication.k8s.io',
    version: 'v1',
    plural: 'tokenreviews',
    singular: 'tokenreview',
    kind: 'TokenReview',
  },
  {
    group: 'authentication.k8s.io',
    version: 'v1',
    plural: 'selfsubjectreviews',
    singular: 'selfsubjectreview',
    kind: 'SelfSubjectReview',
  },
  {
    group: 'authorization.k8s.io',
    version: 'v1',
    plural: 'subjectaccessreviews',
    singular: 'subjectaccessreview',
    kind: 'SubjectAccessReview',
  },
  {
    group: 'authorization.k8s.io',
    version: 'v1',
    plural: 'selfsubjectaccessreviews',
    singular: 'selfsubjectaccessreview',
    kind: 'SelfSubjectAccessReview',
  },
  {
    group: 'authorization.k8s.io',
    version: 'v1',
    plural: 'localsubjectaccessreviews',
    singular: 'localsubjectaccessreview',
    kind: 'LocalSubjectAccessReview',
    namespaced: true,
  },
  {
    group: 'authorization.k8s.io',
    version: 'v1',
    plural: 'selfsubjectrulesreviews',
    singular: 'selfsubjectrulesreview',
    kind: 'SelfSubjectRulesReview',
  },
];
