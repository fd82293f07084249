/** Source: the generated.proto and types.go of Kubernetes 1.36 (k8s.io/api, k8s.io/apimachinery); format: see ../types.ts. */
export default `
[events.k8s.io/v1]
Event metadata=1:meta/v1.ObjectMeta eventTime=2:MicroTime series=3:*EventSeries reportingController=4:?string reportingInstance=5:?string action=6:?string reason=7:?string regarding=8:?core/v1.ObjectReference related=9:*core/v1.ObjectReference note=10:?string type=11:?string deprecatedSource=12:?core/v1.EventSource deprecatedFirstTimestamp=13:?Time deprecatedLastTimestamp=14:?Time deprecatedCount=15:?int32
EventSeries count=1:int32 lastObservedTime=2:MicroTime
[scheduling.k8s.io/v1]
PriorityClass metadata=1:?meta/v1.ObjectMeta value=2:int32 globalDefault=3:?bool description=4:?string preemptionPolicy=5:*string
[discovery.k8s.io/v1]
Endpoint addresses=1:[]string conditions=2:?EndpointConditions hostname=3:*string targetRef=4:*core/v1.ObjectReference deprecatedTopology=5:?%string nodeName=6:*string zone=7:*string hints=8:*EndpointHints
EndpointConditions ready=1:*bool serving=2:*bool terminating=3:*bool
EndpointHints forZones=1:?[]ForZone forNodes=2:?[]ForNode
EndpointPort name=1:*string protocol=2:*string port=3:*int32 appProtocol=4:*string
EndpointSlice metadata=1:?meta/v1.ObjectMeta addressType=4:string endpoints=2:[]Endpoint ports=3:[]EndpointPort
ForNode name=1:string
ForZone name=1:string
[coordination.k8s.io/v1]
Lease metadata=1:?meta/v1.ObjectMeta spec=2:?LeaseSpec
LeaseSpec holderIdentity=1:*string leaseDurationSeconds=2:*int32 acquireTime=3:*MicroTime renewTime=4:*MicroTime leaseTransitions=5:*int32 strategy=6:*string preferredHolder=7:*string
[node.k8s.io/v1]
Overhead podFixed=1:?%Quantity
RuntimeClass metadata=1:?meta/v1.ObjectMeta handler=2:string overhead=3:*Overhead scheduling=4:*Scheduling
Scheduling nodeSelector=1:?%string tolerations=2:?[]core/v1.Toleration
[certificates.k8s.io/v1]
CertificateSigningRequest metadata=1:?meta/v1.ObjectMeta spec=2:CertificateSigningRequestSpec status=3:?CertificateSigningRequestStatus
CertificateSigningRequestCondition type=1:string status=6:string reason=2:?string message=3:?string lastUpdateTime=4:?Time lastTransitionTime=5:?Time
CertificateSigningRequestSpec request=1:bytes signerName=7:string expirationSeconds=8:*int32 usages=5:?[]string username=2:?string uid=3:?string groups=4:?[]string extra=6:?%Strings
CertificateSigningRequestStatus conditions=1:?[]CertificateSigningRequestCondition certificate=2:?bytes
[certificates.k8s.io/v1beta1]
ClusterTrustBundle metadata=1:?meta/v1.ObjectMeta spec=2:ClusterTrustBundleSpec
ClusterTrustBundleSpec signerName=1:?string trustBundle=2:string
[authentication.k8s.io/v1]
BoundObjectReference kind=1:?string apiVersion=2:?string name=3:?string uid=4:?string
SelfSubjectReview metadata=1:?meta/v1.ObjectMeta status=2:?SelfSubjectReviewStatus
SelfSubjectReviewStatus userInfo=1:?UserInfo
TokenRequest metadata=1:?meta/v1.ObjectMeta spec=2:TokenRequestSpec status=3:?TokenRequestStatus
TokenRequestSpec audiences=1:[]string expirationSeconds=4:*int64 boundObjectRef=3:*BoundObjectReference
TokenRequestStatus token=1:string expirationTimestamp=2:Time
TokenReview metadata=1:?meta/v1.ObjectMeta spec=2:TokenReviewSpec status=3:?TokenReviewStatus
TokenReviewSpec token=1:?string audiences=2:?[]string
TokenReviewStatus authenticated=1:?bool user=2:?UserInfo audiences=4:?[]string error=3:?string
UserInfo username=1:?string uid=2:?string groups=3:?[]string extra=4:?%Strings
[authorization.k8s.io/v1]
FieldSelectorAttributes rawSelector=1:?string requirements=2:?[]meta/v1.FieldSelectorRequirement
LabelSelectorAttributes rawSelector=1:?string requirements=2:?[]meta/v1.LabelSelectorRequirement
LocalSubjectAccessReview metadata=1:?meta/v1.ObjectMeta spec=2:SubjectAccessReviewSpec status=3:?SubjectAccessReviewStatus
NonResourceAttributes path=1:?string verb=2:?string
NonResourceRule verbs=1:[]string nonResourceURLs=2:?[]string
ResourceAttributes namespace=1:?string verb=2:?string group=3:?string version=4:?string resource=5:?string subresource=6:?string name=7:?string fieldSelector=8:*FieldSelectorAttributes labelSelector=9:*LabelSelectorAttributes
ResourceRule verbs=1:[]string apiGroups=2:?[]string resources=3:?[]string resourceNames=4:?[]string
SelfSubjectAccessReview metadata=1:?meta/v1.ObjectMeta spec=2:SelfSubjectAccessReviewSpec status=3:?SubjectAccessReviewStatus
SelfSubjectAccessReviewSpec resourceAttributes=1:*ResourceAttributes nonResourceAttributes=2:*NonResourceAttributes
SelfSubjectRulesReview metadata=1:?meta/v1.ObjectMeta spec=2:SelfSubjectRulesReviewSpec status=3:?SubjectRulesReviewStatus
SelfSubjectRulesReviewSpec namespace=1:?string
SubjectAccessReview metadata=1:?meta/v1.ObjectMeta spec=2:SubjectAccessReviewSpec status=3:?SubjectAccessReviewStatus
SubjectAccessReviewSpec resourceAttributes=1:*ResourceAttributes nonResourceAttributes=2:*NonResourceAttributes user=3:?string groups=4:?[]string extra=5:?%Strings uid=6:?string
SubjectAccessReviewStatus allowed=1:bool denied=4:?bool reason=2:?string evaluationError=3:?string
SubjectRulesReviewStatus resourceRules=1:[]ResourceRule nonResourceRules=2:[]NonResourceRule incomplete=3:bool evaluationError=4:?string
[policy/v1]
Eviction metadata=1:?meta/v1.ObjectMeta deleteOptions=2:*meta/v1.DeleteOptions
[rbac.authorization.k8s.io/v1]
AggregationRule clusterRoleSelectors=1:?[]meta/v1.LabelSelector
ClusterRole metadata=1:?meta/v1.ObjectMeta rules=2:[]PolicyRule aggregationRule=3:*AggregationRule
ClusterRoleBinding metadata=1:?meta/v1.ObjectMeta subjects=2:?[]Subject roleRef=3:RoleRef
PolicyRule verbs=1:[]string apiGroups=2:?[]string resources=3:?[]string resourceNames=4:?[]string nonResourceURLs=5:?[]string
Role metadata=1:?meta/v1.ObjectMeta rules=2:[]PolicyRule
RoleBinding metadata=1:?meta/v1.ObjectMeta subjects=2:?[]Subject roleRef=3:RoleRef
RoleRef apiGroup=1:string kind=2:string name=3:string
Subject kind=1:string apiGroup=2:?string name=3:string namespace=4:?string
`;
