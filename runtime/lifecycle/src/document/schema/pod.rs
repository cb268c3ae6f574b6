//! Templates of Jobs and Pods as tables of fields: what the cluster `local` can run.

use super::shape::{Field, Object, Rule, Shape, may, must};

const TEXTS: Shape = Shape::MapOf(&Shape::Text);
const LABELS: Field = may("labels", TEXTS, "Labels.");
const ANNOTATIONS: Field = may("annotations", TEXTS, "Annotations.");
const SECONDS: Shape = Shape::Whole(0, u32::MAX as i64);

pub(super) static JOB_TEMPLATE: Object = Object {
    name: "JobTemplate",
    about: "A Job without its name, which is made for it. Strings may be templates.",
    fields: &[
        may("metadata", Shape::Object(&METADATA), "Namespace, labels and annotations."),
        must("spec", Shape::Object(&JOB), "How the Job runs."),
    ],
    rules: &[],
};

pub(super) static POD_TEMPLATE: Object = Object {
    name: "PodTemplate",
    about: "A Pod without its name, which is made for it. Strings may be templates.",
    fields: &[
        may("metadata", Shape::Object(&METADATA), "Namespace, labels and annotations."),
        must("spec", Shape::Object(&POD), "What runs."),
    ],
    rules: &[],
};

pub(super) static OBJECT_METADATA: Object = Object {
    name: "ObjectMetadata",
    about: "The name of an object.",
    fields: &[
        must("name", Shape::LabelTemplate, "Its name; a template may give it."),
        may("namespace", Shape::LabelTemplate, "Absent: the release's."),
        LABELS,
        ANNOTATIONS,
    ],
    rules: &[],
};

static METADATA: Object = Object {
    name: "HookMetadata",
    about: "Metadata of a workload whose name is made for it.",
    fields: &[may("namespace", Shape::LabelTemplate, "Absent: the release's."), LABELS, ANNOTATIONS],
    rules: &[],
};

static POD_METADATA: Object =
    Object { name: "PodMetadata", about: "Metadata of a Job's Pods.", fields: &[LABELS, ANNOTATIONS], rules: &[] };

static JOB: Object = Object {
    name: "JobSpec",
    about: "How a Job runs, as in Kubernetes.",
    fields: &[
        may("backoffLimit", Shape::Whole(0, 1_000), "New Pods after failed ones."),
        may("activeDeadlineSeconds", Shape::Whole(1, u32::MAX as i64), "The Job fails after this time."),
        may("suspend", Shape::Bool, "A Job that is suspended by its author is left so."),
        may("completions", Shape::Whole(1, 1), "1 alone on the cluster `local`."),
        may("parallelism", Shape::Whole(1, 1), "1 alone on the cluster `local`."),
        may("ttlSecondsAfterFinished", SECONDS, "When the finished Job is deleted."),
        must("template", Shape::Object(&JOB_POD), "Its Pods."),
    ],
    rules: &[],
};

static JOB_POD: Object = Object {
    name: "JobPodTemplate",
    about: "The Pods of a Job.",
    fields: &[
        may("metadata", Shape::Object(&POD_METADATA), "Labels and annotations of the Pods."),
        must("spec", Shape::Object(&POD), "What runs."),
    ],
    rules: &[],
};

static POD: Object = Object {
    name: "PodSpec",
    about: "What runs: containers, which are processes on the cluster `local`.",
    fields: &[
        must("restartPolicy", Shape::Words(&["Never", "OnFailure"]), "Whether a failed container is started again."),
        may(
            "terminationGracePeriodSeconds",
            Shape::Whole(0, 86_400),
            "Between the signal to end and the end by force.",
        ),
        may("initContainers", Shape::List(&Shape::Object(&CONTAINER)), "Run first, one after another."),
        must("containers", Shape::Filled(&Shape::Object(&CONTAINER)), "At least one."),
    ],
    rules: &[],
};

static CONTAINER: Object = Object {
    name: "Container",
    about: "A container, as in Kubernetes.",
    fields: &[
        must("name", Shape::LabelTemplate, "Unique in the Pod."),
        must(
            "image",
            Shape::FilledText,
            "An image reference; `host` is this machine's own programs. A template may give it.",
        ),
        may("command", Shape::List(&Shape::Text), "The program and its first arguments."),
        may("args", Shape::List(&Shape::Text), "More arguments."),
        may("env", Shape::List(&Shape::Object(&VARIABLE)), "Variables, the later ones over the earlier ones."),
        may("envFrom", Shape::List(&Shape::Object(&SOURCE)), "All entries of ConfigMaps and Secrets as variables."),
        may("workingDir", Shape::Text, "The folder that it starts in."),
        may(
            "imagePullPolicy",
            Shape::Words(&["Always", "IfNotPresent", "Never"]),
            "Means nothing on the cluster `local`.",
        ),
        may("ports", Shape::List(&Shape::Object(&PORT)), "Mean nothing on the cluster `local`."),
    ],
    rules: &[],
};

static VARIABLE: Object = Object {
    name: "Variable",
    about: "A variable of the environment.",
    fields: &[
        must("name", Shape::FilledText, "Its name."),
        may("value", Shape::Text, "Its value."),
        may("valueFrom", Shape::Object(&VALUE_FROM), "Where its value is from."),
    ],
    rules: &[],
};

static VALUE_FROM: Object = Object {
    name: "ValueFrom",
    about: "An entry of a ConfigMap or Secret of the release.",
    fields: &[
        may("configMapKeyRef", Shape::Object(&KEY), "An entry of a ConfigMap."),
        may("secretKeyRef", Shape::Object(&KEY), "An entry of a Secret."),
    ],
    rules: &[Rule::One(&["configMapKeyRef", "secretKeyRef"])],
};

static KEY: Object = Object {
    name: "KeyReference",
    about: "An entry of an object.",
    fields: &[
        must("name", Shape::LabelTemplate, "Name of the object."),
        may("optional", Shape::Bool, "Whether it may be missing.").or("false"),
        must("key", Shape::Text, "Key of the entry."),
    ],
    rules: &[],
};

static SOURCE: Object = Object {
    name: "VariableSource",
    about: "All entries of a ConfigMap or Secret.",
    fields: &[
        may("prefix", Shape::Text, "Put before each name."),
        may("configMapRef", Shape::Object(&REFERENCE), "A ConfigMap."),
        may("secretRef", Shape::Object(&REFERENCE), "A Secret."),
    ],
    rules: &[Rule::One(&["configMapRef", "secretRef"])],
};

static REFERENCE: Object = Object {
    name: "ObjectReference",
    about: "An object of the release.",
    fields: &[
        must("name", Shape::LabelTemplate, "Name of the object."),
        may("optional", Shape::Bool, "Whether it may be missing.").or("false"),
    ],
    rules: &[],
};

static PORT: Object = Object {
    name: "ContainerPort",
    about: "A port that the program listens on.",
    fields: &[
        must("containerPort", Shape::Whole(1, 65_535), "The port."),
        may("name", Shape::Text, "Its name."),
        may("protocol", Shape::Words(&["TCP", "UDP", "SCTP"]), "Its protocol.").or("\"TCP\""),
    ],
    rules: &[],
};
