//! Names that everybody knows: modules, aliases, words of other languages, and what moved where.

/// Modules of the standard library that steps use by their own name. Sorted.
const STDLIB: &[&str] = &[
    "abc",
    "argparse",
    "array",
    "ast",
    "asyncio",
    "atexit",
    "base64",
    "binascii",
    "bisect",
    "builtins",
    "bz2",
    "calendar",
    "cmath",
    "codecs",
    "collections",
    "colorsys",
    "concurrent",
    "configparser",
    "contextlib",
    "contextvars",
    "copy",
    "csv",
    "ctypes",
    "curses",
    "dataclasses",
    "datetime",
    "decimal",
    "difflib",
    "dis",
    "email",
    "enum",
    "errno",
    "faulthandler",
    "filecmp",
    "fileinput",
    "fnmatch",
    "fractions",
    "ftplib",
    "functools",
    "gc",
    "getpass",
    "gettext",
    "glob",
    "graphlib",
    "gzip",
    "hashlib",
    "heapq",
    "hmac",
    "html",
    "http",
    "imaplib",
    "importlib",
    "inspect",
    "io",
    "ipaddress",
    "itertools",
    "json",
    "keyword",
    "linecache",
    "locale",
    "logging",
    "lzma",
    "math",
    "mimetypes",
    "mmap",
    "multiprocessing",
    "numbers",
    "operator",
    "os",
    "pathlib",
    "pdb",
    "pickle",
    "pkgutil",
    "platform",
    "plistlib",
    "pprint",
    "queue",
    "random",
    "re",
    "readline",
    "reprlib",
    "resource",
    "secrets",
    "select",
    "shelve",
    "shlex",
    "shutil",
    "signal",
    "smtplib",
    "socket",
    "sqlite3",
    "ssl",
    "stat",
    "statistics",
    "string",
    "struct",
    "subprocess",
    "sys",
    "sysconfig",
    "tarfile",
    "tempfile",
    "textwrap",
    "threading",
    "time",
    "timeit",
    "token",
    "tokenize",
    "tomllib",
    "traceback",
    "tracemalloc",
    "types",
    "typing",
    "unicodedata",
    "unittest",
    "urllib",
    "uuid",
    "venv",
    "warnings",
    "weakref",
    "webbrowser",
    "xml",
    "xmlrpc",
    "zipfile",
    "zlib",
    "zoneinfo",
];

/// Whether a module is of the standard library.
pub(super) fn is_stdlib(module: &str) -> bool {
    STDLIB.binary_search(&module).is_ok()
}

/// How a name is used where it stands.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Use<'t> {
    /// `name.attribute`
    Attribute(&'t str),
    /// `name(…)`
    Call,
    /// Otherwise.
    Plain,
}

/// Names that people give to packages: the name, the import, the package.
const ALIASES: &[(&str, &str, &str)] = &[
    ("np", "import numpy as np", "numpy"),
    ("numpy", "import numpy", "numpy"),
    ("pd", "import pandas as pd", "pandas"),
    ("pandas", "import pandas", "pandas"),
    ("plt", "import matplotlib.pyplot as plt", "matplotlib"),
    ("mpl", "import matplotlib as mpl", "matplotlib"),
    ("matplotlib", "import matplotlib", "matplotlib"),
    ("sns", "import seaborn as sns", "seaborn"),
    ("seaborn", "import seaborn", "seaborn"),
    ("sklearn", "import sklearn", "sklearn"),
    ("scipy", "import scipy", "scipy"),
    ("sm", "import statsmodels.api as sm", "statsmodels"),
    ("smf", "import statsmodels.formula.api as smf", "statsmodels"),
    ("nx", "import networkx as nx", "networkx"),
    ("tf", "import tensorflow as tf", "tensorflow"),
    ("torch", "import torch", "torch"),
    ("pl", "import polars as pl", "polars"),
    ("polars", "import polars", "polars"),
    ("px", "import plotly.express as px", "plotly"),
    ("xr", "import xarray as xr", "xarray"),
    ("jnp", "import jax.numpy as jnp", "jax"),
    ("dd", "import dask.dataframe as dd", "dask"),
    ("pa", "import pyarrow as pa", "pyarrow"),
    ("xgb", "import xgboost as xgb", "xgboost"),
    ("lgb", "import lightgbm as lgb", "lightgbm"),
    ("joblib", "import joblib", "joblib"),
    ("requests", "import requests", "requests"),
    ("httpx", "import httpx", "httpx"),
    ("yaml", "import yaml", "yaml"),
    ("ET", "import xml.etree.ElementTree as ET", "xml"),
    ("BeautifulSoup", "from bs4 import BeautifulSoup", "bs4"),
];

/// Names that one module alone is known for.
const MEMBERS: &[(&str, &[&str])] = &[
    ("abc", &["ABC", "ABCMeta", "abstractmethod"]),
    ("argparse", &["ArgumentParser"]),
    ("bisect", &["bisect_left", "bisect_right", "insort"]),
    ("collections", &["ChainMap", "Counter", "OrderedDict", "UserDict", "defaultdict", "deque", "namedtuple"]),
    ("concurrent.futures", &["ProcessPoolExecutor", "ThreadPoolExecutor", "as_completed"]),
    ("contextlib", &["ExitStack", "closing", "contextmanager", "redirect_stdout", "suppress"]),
    ("copy", &["deepcopy"]),
    ("csv", &["DictReader", "DictWriter"]),
    ("dataclasses", &["asdict", "dataclass"]),
    ("datetime", &["datetime", "date", "timedelta", "timezone"]),
    ("decimal", &["Decimal", "ROUND_HALF_UP", "getcontext"]),
    ("enum", &["Enum", "IntEnum", "IntFlag", "StrEnum"]),
    ("fractions", &["Fraction"]),
    (
        "functools",
        &[
            "cached_property",
            "cmp_to_key",
            "lru_cache",
            "partial",
            "reduce",
            "singledispatch",
            "total_ordering",
            "wraps",
        ],
    ),
    ("glob", &["glob", "iglob"]),
    ("heapq", &["heapify", "heappop", "heappush", "heappushpop", "nlargest", "nsmallest"]),
    ("io", &["BytesIO", "StringIO", "TextIOWrapper"]),
    (
        "itertools",
        &[
            "accumulate",
            "chain",
            "combinations",
            "cycle",
            "islice",
            "permutations",
            "starmap",
            "takewhile",
            "dropwhile",
            "zip_longest",
        ],
    ),
    ("operator", &["attrgetter", "itemgetter", "methodcaller"]),
    ("pathlib", &["Path", "PurePath", "PurePosixPath"]),
    ("pprint", &["pprint", "pformat"]),
    ("subprocess", &["CalledProcessError", "Popen"]),
    ("tempfile", &["NamedTemporaryFile", "TemporaryDirectory", "mkdtemp"]),
    ("textwrap", &["dedent"]),
    ("types", &["MappingProxyType", "SimpleNamespace"]),
    (
        "typing",
        &[
            "Any",
            "ClassVar",
            "Dict",
            "List",
            "Literal",
            "NamedTuple",
            "Optional",
            "Protocol",
            "Tuple",
            "TypedDict",
            "TypeVar",
            "Union",
        ],
    ),
    ("unittest.mock", &["MagicMock", "Mock"]),
    ("urllib.parse", &["parse_qs", "quote_plus", "urlencode", "urljoin", "urlparse", "urlsplit"]),
    ("urllib.request", &["urlopen", "urlretrieve"]),
    ("uuid", &["UUID", "uuid1", "uuid4", "uuid5"]),
    ("zipfile", &["ZipFile"]),
    ("zoneinfo", &["ZoneInfo"]),
    ("tqdm", &["tqdm"]),
    ("sklearn.cluster", &["DBSCAN", "KMeans"]),
    ("sklearn.compose", &["ColumnTransformer", "make_column_transformer"]),
    (
        "sklearn.datasets",
        &[
            "load_breast_cancer",
            "load_diabetes",
            "load_iris",
            "load_wine",
            "make_blobs",
            "make_classification",
            "make_regression",
        ],
    ),
    ("sklearn.decomposition", &["PCA", "TruncatedSVD"]),
    (
        "sklearn.ensemble",
        &["GradientBoostingClassifier", "GradientBoostingRegressor", "RandomForestClassifier", "RandomForestRegressor"],
    ),
    ("sklearn.feature_extraction.text", &["CountVectorizer", "TfidfVectorizer"]),
    ("sklearn.impute", &["KNNImputer", "SimpleImputer"]),
    (
        "sklearn.linear_model",
        &["ElasticNet", "Lasso", "LinearRegression", "LogisticRegression", "Ridge", "SGDClassifier"],
    ),
    (
        "sklearn.metrics",
        &[
            "accuracy_score",
            "classification_report",
            "confusion_matrix",
            "f1_score",
            "mean_absolute_error",
            "mean_squared_error",
            "precision_score",
            "r2_score",
            "recall_score",
            "roc_auc_score",
        ],
    ),
    ("sklearn.model_selection", &["GridSearchCV", "KFold", "StratifiedKFold", "cross_val_score", "train_test_split"]),
    ("sklearn.neighbors", &["KNeighborsClassifier", "KNeighborsRegressor"]),
    ("sklearn.pipeline", &["Pipeline", "make_pipeline"]),
    (
        "sklearn.preprocessing",
        &["LabelEncoder", "MinMaxScaler", "OneHotEncoder", "OrdinalEncoder", "PolynomialFeatures", "StandardScaler"],
    ),
    ("sklearn.svm", &["SVC", "SVR"]),
    ("sklearn.tree", &["DecisionTreeClassifier", "DecisionTreeRegressor"]),
];

/// Functions that several modules are known for.
const SHARED: &[(&str, &[&str])] = &[
    ("sqrt", &["math", "numpy", "cmath"]),
    ("ceil", &["math", "numpy"]),
    ("floor", &["math", "numpy"]),
    ("exp", &["math", "numpy", "cmath"]),
    ("log", &["math", "numpy", "cmath"]),
    ("log10", &["math", "numpy"]),
    ("sin", &["math", "numpy"]),
    ("cos", &["math", "numpy"]),
    ("pi", &["math", "numpy"]),
    ("mean", &["statistics", "numpy"]),
    ("median", &["statistics", "numpy"]),
    ("randint", &["random", "numpy.random"]),
    ("choice", &["random", "numpy.random"]),
    ("shuffle", &["random", "numpy.random"]),
    ("sleep", &["time", "asyncio"]),
    ("Lock", &["threading", "multiprocessing", "asyncio"]),
    ("Thread", &["threading"]),
    ("Process", &["multiprocessing"]),
    ("Iterable", &["collections.abc", "typing"]),
    ("Callable", &["collections.abc", "typing"]),
    ("Mapping", &["collections.abc", "typing"]),
    ("Sequence", &["collections.abc", "typing"]),
    ("array", &["array", "numpy"]),
    ("product", &["itertools", "math"]),
];

/// An import that would give a name.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Giver {
    /// The line to write.
    pub import: String,
    /// The module that must be there for it.
    pub module: String,
}

/// The imports that would give a name as it is used everywhere in a step: one where it is certain.
pub(super) fn givers(name: &str, uses: &[Use<'_>]) -> Vec<Giver> {
    let giver = |import: String, module: &str| Giver { import, module: module.to_owned() };
    if let Some((_, import, module)) = ALIASES.iter().find(|(alias, ..)| *alias == name) {
        let fits = !name.starts_with(char::is_lowercase) || uses.iter().all(|u| matches!(u, Use::Attribute(_)));
        return if fits { vec![giver((*import).to_owned(), module)] } else { Vec::new() };
    }
    let members = MEMBERS.iter().filter(|(_, names)| names.contains(&name));
    let mut found: Vec<Giver> =
        members.map(|(module, _)| giver(format!("from {module} import {name}"), module)).collect();
    let shared = SHARED.iter().filter(|(shared, _)| *shared == name).flat_map(|(_, modules)| modules.iter());
    found.extend(shared.map(|module| giver(format!("from {module} import {name}"), module)));
    let as_module = is_stdlib(name) || name == "tqdm";
    if as_module && uses.iter().all(|u| matches!(u, Use::Attribute(_))) {
        let attributes: Vec<&str> =
            uses.iter().filter_map(|u| if let Use::Attribute(a) = u { Some(*a) } else { None }).collect();
        // `datetime.now` is of the class, `datetime.timedelta` of the module, and so with others of this kind.
        let of_class = |attribute: &&str| match name {
            "datetime" => !matches!(
                *attribute,
                "datetime" | "date" | "time" | "timedelta" | "timezone" | "UTC" | "MINYEAR" | "MAXYEAR"
            ),
            "tqdm" => !matches!(*attribute, "tqdm" | "trange" | "auto" | "notebook"),
            _ => false,
        };
        let class = attributes.iter().filter(|a| of_class(a)).count();
        if class == 0 {
            return vec![giver(format!("import {name}"), name)];
        }
        return if class == attributes.len() { found } else { Vec::new() };
    }
    if is_stdlib(name) && uses.iter().any(|u| matches!(u, Use::Attribute(_))) {
        return Vec::new();
    }
    found
}

/// What a literal of another language is in Python.
pub(super) fn literal(name: &str) -> Option<&'static str> {
    Some(match name {
        "true" | "TRUE" => "True",
        "false" | "FALSE" => "False",
        "null" | "NULL" | "nil" | "undefined" | "none" | "NONE" | "Null" => "None",
        _ => return None,
    })
}

/// Where names went that a module once had: module, name, the module that has it, and its name there.
pub(super) const MOVED: &[(&str, &str, &str, &str)] = &[
    ("fractions", "gcd", "math", "gcd"),
    ("typing", "OrderedDict", "typing", "OrderedDict"),
    ("urllib", "urlencode", "urllib.parse", "urlencode"),
    ("urllib", "quote", "urllib.parse", "quote"),
    ("urllib", "quote_plus", "urllib.parse", "quote_plus"),
    ("urllib", "unquote", "urllib.parse", "unquote"),
    ("urllib", "unquote_plus", "urllib.parse", "unquote_plus"),
    ("urllib", "urlopen", "urllib.request", "urlopen"),
    ("urllib", "urlretrieve", "urllib.request", "urlretrieve"),
    ("string", "maketrans", "", ""),
    ("inspect", "getargspec", "", ""),
    ("time", "clock", "", ""),
    ("cgi", "escape", "", ""),
    ("pandas.io.json", "json_normalize", "pandas", "json_normalize"),
    ("pandas.tseries.tools", "to_datetime", "pandas", "to_datetime"),
    ("pandas.util.testing", "assert_frame_equal", "pandas.testing", "assert_frame_equal"),
    ("pandas.util.testing", "assert_series_equal", "pandas.testing", "assert_series_equal"),
    ("pandas.util.testing", "assert_index_equal", "pandas.testing", "assert_index_equal"),
    ("pandas.tools.plotting", "scatter_matrix", "pandas.plotting", "scatter_matrix"),
    ("scipy.misc", "comb", "scipy.special", "comb"),
    ("scipy.misc", "factorial", "scipy.special", "factorial"),
    ("scipy.misc", "logsumexp", "scipy.special", "logsumexp"),
    ("scipy.misc", "derivative", "", ""),
    ("scipy.misc", "imread", "", ""),
    ("scipy.integrate", "simps", "scipy.integrate", "simpson"),
    ("scipy.integrate", "trapz", "scipy.integrate", "trapezoid"),
    ("scipy.integrate", "cumtrapz", "scipy.integrate", "cumulative_trapezoid"),
    ("sklearn.preprocessing", "Imputer", "sklearn.impute", "SimpleImputer"),
    ("sklearn.externals", "joblib", "joblib", ""),
    ("sklearn.datasets", "load_boston", "", ""),
    ("sklearn.datasets", "fetch_mldata", "", ""),
    ("sklearn.utils", "safe_indexing", "", ""),
    ("sklearn.metrics", "plot_confusion_matrix", "", ""),
    ("sklearn.metrics", "plot_roc_curve", "", ""),
    ("sklearn.metrics", "plot_precision_recall_curve", "", ""),
    ("sklearn.metrics", "jaccard_similarity_score", "", ""),
    ("sklearn.linear_model", "RandomizedLasso", "", ""),
    ("sklearn.mixture", "GMM", "sklearn.mixture", "GaussianMixture"),
    ("sklearn.covariance", "GraphLasso", "sklearn.covariance", "GraphicalLasso"),
];

/// What else can be said of a name that is gone, where nothing takes its place as it is.
pub(super) fn gone(module: &str, name: &str) -> Option<&'static str> {
    Some(match (module, name) {
        ("time", "clock") => {
            "time.perf_counter() measures time that passed, time.process_time() time that was computed"
        }
        ("inspect", "getargspec") => "inspect.signature() and inspect.getfullargspec() answer in another form",
        ("cgi", "escape") => "html.escape() also writes quotes as entities",
        ("string", "maketrans") => "str.maketrans() does this for texts",
        ("scipy.misc", "imread") => "imageio.imread() or PIL.Image.open() read pictures",
        ("scipy.misc", "derivative") => "scipy.differentiate.derivative() takes other arguments",
        ("sklearn.datasets", "load_boston") => {
            "the data set was removed for what it says about people; fetch_california_housing() is another one"
        }
        ("sklearn.datasets", "fetch_mldata") => "fetch_openml() reads from another place",
        ("sklearn.metrics", "plot_confusion_matrix") => "ConfusionMatrixDisplay.from_estimator() draws it",
        ("sklearn.metrics", "plot_roc_curve") => "RocCurveDisplay.from_estimator() draws it",
        ("sklearn.metrics", "plot_precision_recall_curve") => "PrecisionRecallDisplay.from_estimator() draws it",
        ("sklearn.metrics", "jaccard_similarity_score") => "jaccard_score() counts otherwise",
        ("sklearn.utils", "safe_indexing") => "_safe_indexing() is not for others to use; index the data itself",
        _ => return None,
    })
}

/// The abstract classes that `collections` had until 3.9.
pub(super) const ABSTRACT: &[&str] = &[
    "Awaitable",
    "Coroutine",
    "AsyncIterable",
    "AsyncIterator",
    "AsyncGenerator",
    "Hashable",
    "Iterable",
    "Iterator",
    "Generator",
    "Reversible",
    "Sized",
    "Container",
    "Callable",
    "Collection",
    "Set",
    "MutableSet",
    "Mapping",
    "MutableMapping",
    "MappingView",
    "KeysView",
    "ItemsView",
    "ValuesView",
    "Sequence",
    "MutableSequence",
    "ByteString",
];

/// Modules of a package that went elsewhere within it: the old one and the new one.
pub(super) const MOVED_MODULES: &[(&str, &str)] = &[
    ("sklearn.cross_validation", "sklearn.model_selection"),
    ("sklearn.grid_search", "sklearn.model_selection"),
    ("sklearn.learning_curve", "sklearn.model_selection"),
    ("sklearn.ensemble.forest", "sklearn.ensemble"),
    ("sklearn.linear_model.logistic", "sklearn.linear_model"),
    ("sklearn.tree.tree", "sklearn.tree"),
    ("sklearn.svm.classes", "sklearn.svm"),
    ("sklearn.neighbors.base", "sklearn.neighbors"),
    ("sklearn.datasets.samples_generator", "sklearn.datasets"),
    ("sklearn.feature_extraction.stop_words", "sklearn.feature_extraction.text"),
    ("sklearn.externals.joblib", "joblib"),
    ("pandas.util.testing", "pandas.testing"),
    ("pandas.tools.plotting", "pandas.plotting"),
    ("pandas.io.json.normalize", "pandas"),
    ("scipy.ndimage.filters", "scipy.ndimage"),
    ("scipy.ndimage.interpolation", "scipy.ndimage"),
];

/// What Python 2 called modules of the standard library.
pub(super) fn renamed_module(name: &str) -> Option<&'static str> {
    Some(match name {
        "ConfigParser" => "configparser",
        "Queue" => "queue",
        "cPickle" => "pickle",
        "StringIO" | "cStringIO" => "io",
        "Tkinter" => "tkinter",
        "HTMLParser" => "html.parser",
        "urlparse" => "urllib.parse",
        "urllib2" => "urllib.request",
        "httplib" => "http.client",
        "Cookie" => "http.cookies",
        "__builtin__" => "builtins",
        "SocketServer" => "socketserver",
        "thread" => "_thread",
        "imp" => "importlib",
        "distutils" => "setuptools",
        _ => return None,
    })
}

/// The distribution that a module is installed by, where that has another name.
pub(super) fn distribution(module: &str) -> &str {
    match module {
        "cv2" => "opencv-python",
        "sklearn" => "scikit-learn",
        "skimage" => "scikit-image",
        "yaml" => "PyYAML",
        "PIL" => "Pillow",
        "bs4" => "beautifulsoup4",
        "dotenv" => "python-dotenv",
        "dateutil" => "python-dateutil",
        "docx" => "python-docx",
        "serial" => "pyserial",
        "Crypto" => "pycryptodome",
        "fitz" => "PyMuPDF",
        "git" => "GitPython",
        "jwt" => "PyJWT",
        "MySQLdb" => "mysqlclient",
        "psycopg2" => "psycopg2-binary",
        "umap" => "umap-learn",
        "usb" => "pyusb",
        "attr" => "attrs",
        other => other,
    }
}

/// The words of the language that begin or join statements.
pub(super) const RESERVED: &[&str] = &[
    "and", "as", "assert", "async", "await", "break", "class", "continue", "def", "del", "elif", "else", "except",
    "finally", "for", "from", "global", "if", "import", "in", "is", "lambda", "nonlocal", "not", "or", "pass", "raise",
    "return", "try", "while", "with", "yield",
];

#[cfg(test)]
mod tests {
    use super::*;

    fn lines(name: &str, uses: &[Use<'_>]) -> Vec<String> {
        givers(name, uses).into_iter().map(|giver| giver.import).collect()
    }

    #[test]
    fn a_name_is_imported_as_it_is_used() {
        use Use::{Attribute, Call, Plain};
        assert!(STDLIB.is_sorted());
        assert_eq!(lines("json", &[Attribute("dumps")]), ["import json"]);
        assert_eq!(lines("json", &[Plain]), Vec::<String>::new());
        assert_eq!(lines("np", &[Attribute("array")]), ["import numpy as np"]);
        assert_eq!(lines("np", &[Plain]), Vec::<String>::new());
        assert_eq!(lines("Path", &[Call]), ["from pathlib import Path"]);
        assert_eq!(lines("datetime", &[Attribute("now")]), ["from datetime import datetime"]);
        assert_eq!(lines("datetime", &[Call]), ["from datetime import datetime"]);
        assert_eq!(lines("datetime", &[Attribute("timedelta")]), ["import datetime"]);
        assert_eq!(lines("datetime", &[Attribute("timedelta"), Attribute("now")]), Vec::<String>::new());
        assert_eq!(lines("glob", &[Call]), ["from glob import glob"]);
        assert_eq!(lines("glob", &[Attribute("glob")]), ["import glob"]);
        assert_eq!(lines("sqrt", &[Call]).len(), 3);
        assert!(lines("rows", &[Plain]).is_empty());
    }
}
