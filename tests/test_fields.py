"""The field tables against MuJoCo: names, order, types, shapes and stages; nothing is left out without a reason."""

from __future__ import annotations

import copy
import re
from functools import partial
from pathlib import Path

import mujoco
import numpy as np
import pytest
from mujoco.introspect import structs

from kinetree.data_fields import DATA_FIELDS, STATE_FIELDS
from kinetree.fields import BYTE, CONSTANT_DIMS, FLAG, FLOAT32, INT, REAL, Field
from kinetree.memory import CAPACITIES
from kinetree.model_fields import MODEL_FIELDS, OPTION_FIELDS, PLUGIN_FIELDS, SIZES, STATISTIC_FIELDS
from kinetree.work_fields import WORK_FIELDS
from tests import corpora

TABLES = {
    "mjModel": MODEL_FIELDS, "mjData": DATA_FIELDS, "mjOption": OPTION_FIELDS, "mjStatistic": STATISTIC_FIELDS,
}  # fmt: skip
OWN_FIELDS = {
    "subtree_mass", "bad", "touching", "was_reset", "ntree_listed",
    "steps_left", "warning_before", "warning_pass", "energy_pass", "flg_energy_pass", "tree_pass",
    "saved_acc", "warning_number", "warning_lastinfo", "ctrl_used", "user_gain", "user_bias", "wrap_touch", "wrap_point",
    "sensor_due",
    "sensor_fresh", "qvel_seen", "stage_clock", "stage_order", "stage_runs", "contact_wrench", "contact_swept", "aba_force",
    "aba_diagonal", "aba_qacc", "capacity", "needed", "overflow", "solver_improvement", "solver_gradient",
    "solver_lineslope", "ngroup", "group_part", "dof_run", "row_run", "nawake_run", "awake_run", "qpos_asleep",
    "edition_asleep", "tree_order", "frame_asleep", "nrow", "nentry", "nmetric", "efc_bare", "metric", "metric_LD",
    "metric_LDiagInv", "metric_diag", "metric_shift", "continuous",
}  # fmt: skip  # kinetree's, not MuJoCo's
STEP_SIZES = ("ncon", "ne", "nf", "nl", "nefc", "nJ", "nY", "nisland", "nidof")
# MuJoCo's fields that each step sizes anew, and these sizes; arrays by island have room for as many as there are trees.
EACH_STEP = {
    name: field for name, field in DATA_FIELDS.items()
    if name not in OWN_FIELDS and (field.growing or field.name in STEP_SIZES or "island" in name or name.startswith("map_"))
}  # fmt: skip
SIZE_NAMES = [name for name, _ in SIZES]

# What MuJoCo has and kinetree does not, by reason. A field that a new MuJoCo adds is in no list, and fails the test.
MODEL_LEFT_OUT = {
    "flexes are refused": """
        nbvhdynamic nflex nflexnode nflexvert nflexedge nflexelem nflexelemdata nflexstiffness nflexbending nefm0dof
        nefm0L nefmCvert nflexelemedge nflexshelldata nflextexcoord nJfe flex_contype flex_conaffinity flex_condim
        flex_priority flex_solmix flex_solref flex_solimp flex_friction flex_margin flex_gap flex_selfcollide
        flex_activelayers flex_passive flex_dim flex_matid flex_group flex_interp flex_cellnum flex_nodeadr flex_nodenum
        flex_vertadr flex_vertnum flex_edgeadr flex_edgenum flex_elemadr flex_elemnum flex_elemdataadr
        flex_stiffnessadr flex_elemedgeadr flex_bendingadr flex_plasticadr flex_plasticmode flex_shellnum
        flex_shelldataadr flex_texcoordadr flex_nodebodyid flex_vertbodyid flex_vertcell flex_edge flex_edgeflap
        flex_elem flex_elemtexcoord flex_elemedge flex_elemlayer flex_shell flex_vert flex_vert0 flex_node flex_node0
        flexedge_length0 flexedge_invweight0 flex_radius flex_size flex_stiffness flex_bending efm0_dofid
        efm0_L_rownnz efm0_L_rowadr efm0_L_colind efm0_L efmC_perm flex_damping flex_yield flex_edgestiffness
        flex_edgedamping flex_edgeequality flex_rigid flexedge_rigid flex_centered flex_flatskin flex_bvhadr flex_bvhnum
        flexedge_J_rownnz flexedge_J_rowadr flexedge_J_colind flex_rgba flex_texcoord""",
    "configurations of plugins are numbers in a table of their own, other plugins are refused": """
        npluginattr npluginstate body_plugin geom_plugin plugin plugin_stateadr plugin_statenum plugin_attr
        plugin_attradr""",
    "skins are only drawn": """
        nskin nskinvert nskintexvert nskinface nskinbone nskinbonevert skin_matid skin_group skin_rgba skin_inflate
        skin_vertadr skin_vertnum skin_texcoordadr skin_faceadr skin_facenum skin_boneadr skin_bonenum skin_vert
        skin_texcoord skin_face skin_bonevertadr skin_bonevertnum skin_bonebindpos skin_bonebindquat skin_bonebodyid
        skin_bonevertid skin_bonevertweight skin_pathadr""",
    "textures and materials": """
        ntex ntexdata nmeshtexcoord tex_type tex_colorspace tex_height tex_width tex_nchannel tex_adr tex_data
        tex_pathadr tex_contenttypeadr mat_texid mat_texuniform mat_texrepeat mat_emission mat_specular mat_shininess
        mat_reflectance mat_metallic mat_roughness site_matid tendon_matid mesh_texcoordadr
        mesh_texcoordnum mesh_texcoord mesh_facetexcoord""",
    "other rendering": """
        vis geom_castshadow site_rgba tendon_width tendon_rgba cam_ipd mesh_facenormal light_type light_texid
        light_castshadow light_bulbradius light_intensity light_range light_active light_attenuation light_cutoff
        light_softness light_exponent light_ambient light_diffuse light_specular""",
    "names, texts and paths are kept as Python strings or not at all": """
        ntext ntextdata nnames npaths nnames_map mesh_pathadr hfield_pathadr text_adr text_size text_data name_bodyadr
        name_jntadr name_geomadr name_siteadr name_camadr name_lightadr name_flexadr name_meshadr name_skinadr
        name_hfieldadr name_texadr name_matadr name_pairadr name_excludeadr name_eqadr name_tendonadr name_actuatoradr
        name_sensoradr name_numericadr name_textadr name_tupleadr name_keyadr name_pluginadr names names_map paths""",
    "MuJoCo's own memory and bookkeeping": "narena nbuffer buffer signature",
    "declared in tables of their own": "opt stat",
}
DATA_LEFT_OUT = {
    "flexes are refused": """
        flexvert_xpos flexelem_aabb flexelem_krot flex_hessian_valid flexvert_hessian flexedge_hessian flexedge_J
        flexedge_length bvh_aabb_dyn flexvert_lambda flexvert_conage flexedge_velocity""",
    "no plugin that is not refused has a state or data": "nplugin plugin_state plugin plugin_data",
    "contacts are fields of their own, contact_dist and others": "contact",
    "the matrix of the dual problem is never formed, efc_Y is enough": "nA efc_AR_rownnz efc_AR_rowadr efc_AR_colind efc_AR",
    "no use for it": "tendon_efcadr",
    "factors of integrators are work": "qH qHDiagInv qLU",
    "copies of rows and dofs by island, which are solved where they are": """
        iefc_type iefc_id iefc_frictionloss iefc_D iefc_R iefc_aref iefc_state iefc_force ifrc_smooth iacc_smooth iacc
        ifrc_constraint""",
    "terms of the metric of the discrete integrator, which is kept whole": """
        efm_active nefmK nefmcon nefmT nefmA nefmdof nefmL efm_c efm_diag efm_ck efm_sdiag efm_fluid efm_tid efm_ts
        efm_tk efm_aid efm_as efm_ak efm_ca efm_K_rownnz efm_K_rowadr efm_K_colind efm_K_val efm_dofid efm_con_ind
        efm_con_val efm_L""",
    "shows which boxes collision looked at": "bvh_active",
    "records of structures": "solver warning timer",
    "MuJoCo's own memory, threads and bookkeeping": """
        narena nbuffer pstack pbase parena threadpool threadlock maxuse_stack maxuse_arena maxuse_con maxuse_efc buffer
        arena signature""",
}

UNITS = {
    "1", "mixed", "m", "m; 1", "s", "kg", "N", "J", "T", "Pa s", "m/s", "m/s^2", "kg m^2", "kg m^2/s", "kg/m^3", "1; m",
    "N; N m", "N m; N", "m/s; rad/s", "rad/s; m/s", "rad/s^2; m/s^2", "1/kg; 1/(kg m^2)", "kg m^2; kg m; kg",
}  # fmt: skip
MODEL_STAGES = {"load", "set_const"}
DATA_STAGES = {
    "user", "kinematics", "com_pos", "camlight", "tendon", "transmission", "crb", "make_m", "factor_m", "fwd_velocity",
    "collision", "make_constraint", "reference_constraint",
    "com_vel", "rne", "passive", "subtree_vel", "energy_pos", "energy_vel", "fwd_actuation", "fwd_acceleration",
    "fwd_constraint", "euler", "implicit", "inverse", "compare_fwd_inv", "rne_post_constraint", "sensor", "sleep",
    "update_sleep", "integrator", "rk4", "step", "aba", "driver", "effective_metric", "set_const",
}  # fmt: skip

# A model in which no size is zero but the two that a file sets by hand.
RICH = """
<mujoco>
  <size nuserdata="3" nuser_body="2" nuser_jnt="3" nuser_geom="4" nuser_site="5" nuser_cam="6" nuser_tendon="7"
        nuser_actuator="8" nuser_sensor="9"/>
  <extension><plugin plugin="mujoco.sensor.touch_grid"/></extension>
  <asset>
    <mesh name="wedge" vertex="0 0 0  .3 0 0  0 .2 0  0 0 .1  .3 .2 0"/>
    <hfield name="hills" nrow="3" ncol="5" size="2 1 .2 .1"/>
    <material name="paint"/>
  </asset>
  <worldbody>
    <light mode="trackcom" pos="0 0 3"/>
    <camera name="eye" pos="1 2 3"/>
    <geom name="ground" type="hfield" hfield="hills" contype="0" conaffinity="0"/>
    <body name="mark" mocap="true"><geom name="mark" size=".1"/></body>
    <body name="trunk" pos="0 0 1" gravcomp=".5">
      <freejoint/>
      <geom name="trunk" type="mesh" mesh="wedge" contype="0" conaffinity="0"/>
      <site name="a" pos="0 0 .2"/>
      <body name="arm" pos=".2 .1 0" quat="1 .1 .2 .3">
        <joint name="shoulder" type="ball"/>
        <geom name="arm" type="cylinder" size=".05" fromto="0 0 0 .3 0 .1" fluidshape="ellipsoid" contype="0" conaffinity="0"/>
        <body name="hand" pos=".3 0 .1">
          <joint name="elbow" axis="0 1 .2" stiffness="2" springyield=".1"/>
          <geom name="hand" type="box" size=".04 .05 .06" material="paint"/>
          <site name="b" pos=".1 0 0"/>
        </body>
      </body>
    </body>
    <body name="cart" pos="3 0 1"><joint name="rail" type="slide" axis="1 0 0"/><geom size=".2"/></body>
  </worldbody>
  <contact><pair geom1="hand" geom2="mark"/><exclude body1="trunk" body2="hand"/></contact>
  <equality><joint joint1="elbow" joint2="rail"/></equality>
  <tendon>
    <spatial name="rope"><site site="a"/><geom geom="arm"/><site site="b"/></spatial>
    <fixed name="sum"><joint joint="elbow" coef="2"/><joint joint="rail" coef="3"/></fixed>
  </tendon>
  <actuator>
    <general joint="shoulder" gear="1 2 3" dyntype="filter" delay=".02" nsample="4"/>
    <motor tendon="rope"/>
  </actuator>
  <sensor>
    <framepos objtype="site" objname="b"/><clock/>
    <plugin plugin="mujoco.sensor.touch_grid" objtype="site" objname="a">
      <config key="size" value="1 2"/><config key="fov" value="90 45"/>
    </plugin>
  </sensor>
  <custom>
    <numeric name="n" data="1 2 3"/>
    <tuple name="t"><element objtype="body" objname="arm"/><element objtype="body" objname="cart"/></tuple>
  </custom>
  <keyframe><key name="one"/><key name="two" time="1"/></keyframe>
</mujoco>
"""


def _dm_control(name: str) -> mujoco.MjModel:
    return corpora.compiled(corpora.package_root("dm_control") / f"dm_control/suite/{name}.xml")


MODELS = {
    "rich": lambda: mujoco.MjModel.from_xml_string(RICH),
    "empty": lambda: mujoco.MjModel.from_xml_string("<mujoco/>"),
    **{name: partial(_dm_control, name) for name in ("humanoid", "quadruped", "fish", "manipulator", "swimmer")},
}


OF_SPECS = ("noct",)  # sizes of what no file can ask for, only a MjSpec; tests/sensor/test_tactile.py has them


@pytest.fixture(params=MODELS, scope="module")
def compiled(request: pytest.FixtureRequest) -> tuple[str, mujoco.MjModel]:
    return request.param, MODELS[request.param]()


def _c_type_and_dims(declared: structs.StructFieldDecl) -> tuple[str, str]:
    """A field of MuJoCo's C structures: NumPy's type, and the shape in our notation with named constants as numbers."""
    numpy_types = {"mjtNum": "float64", "int": "int32", "mjtBool": "bool", "mjtByte": "uint8", "float": "float32"}
    c_type, _, rest = str(declared.type).partition(" ")
    extent = declared.array_extent or re.findall(r"\d+", rest)
    return numpy_types[c_type], " ".join(str(getattr(mujoco, str(n), n)) for n in extent)


@pytest.mark.parametrize("struct", TABLES)
def test_declarations_equal_mujocos(struct):
    theirs = {field.name: field for field in structs.STRUCTS[struct].fields}
    ours = [name for name in TABLES[struct] if name not in OWN_FIELDS]
    ours = [name for name in ours if not EACH_STEP.get(name)]
    wanted = [name for name in theirs if name in TABLES[struct] and not EACH_STEP.get(name)]
    assert ours == wanted, "MuJoCo's fields, in MuJoCo's order"
    wrong = []
    for name in ours:
        field = TABLES[struct][name]
        dims = " ".join(str(CONSTANT_DIMS.get(dim, dim)) for dim in field.shape_names)
        if (field.dtype, dims) != _c_type_and_dims(theirs[name]):
            wrong.append((struct, name, field.dtype, dims, *_c_type_and_dims(theirs[name])))
    assert not wrong


def test_declarations_of_contacts_and_constraints_equal_mujocos():
    """Fields that each step sizes anew: rows have MuJoCo's names and sizes, contacts those of mjContact."""
    rows = {field.name: field for field in structs.STRUCTS["mjData"].fields}
    contacts = {f"contact_{field.name}": field for field in structs.STRUCTS["mjContact"].fields}
    sizes = {"maxcon": "", "maxefc": "nefc", "maxJ": "nJ", "maxA": "nY"}
    for name, field in EACH_STEP.items():
        dtype, dims = _c_type_and_dims((rows | contacts)[name])
        inner = " ".join(str(CONSTANT_DIMS.get(dim, dim)) for dim in field.shape_names[1:])
        outer = "".join(field.shape_names[:1])
        outer = "nisland" if name.startswith("island_") else sizes.get(outer, outer)
        ours = f"{outer} {inner}".strip()
        assert (field.dtype, ours) == (dtype, dims), name
    missing = sorted(contacts.keys() - EACH_STEP.keys())
    assert missing == ["contact_elem", "contact_flex", "contact_geom1", "contact_geom2", "contact_vert"], (
        "flexes, and geom"
    )


def test_types_and_shapes_equal_a_compiled_models(compiled):
    label, model = compiled
    sizes = {name: getattr(model, name) for name in SIZE_NAMES}
    holders = {"mjModel": model, "mjData": mujoco.MjData(model), "mjOption": model.opt, "mjStatistic": model.stat}
    wrong = []
    for struct, table in TABLES.items():
        for name, field in table.items():
            if name in OWN_FIELDS or name in EACH_STEP:
                continue
            theirs = np.asarray(getattr(holders[struct], name))
            kind = field.dtype if field.dims else np.dtype(field.dtype).kind  # MuJoCo hands out scalars as Python's
            if (kind, field.shape(sizes)) != (theirs.dtype if field.dims else theirs.dtype.kind, theirs.shape):
                wrong.append((label, struct, name, field.dtype, field.shape(sizes), theirs.dtype, theirs.shape))
    assert not wrong


def test_rich_model_has_some_of_everything():
    model = MODELS["rich"]()
    assert [name for name in SIZE_NAMES if getattr(model, name) <= 0] == [*OF_SPECS, "njmax", "nconmax"]


@pytest.mark.parametrize(
    "struct, left_out", [("mjModel", MODEL_LEFT_OUT), ("mjData", DATA_LEFT_OUT), ("mjOption", {}), ("mjStatistic", {})]
)
def test_every_field_is_declared_or_left_out_for_a_reason(struct, left_out):
    skipped = [name for names in left_out.values() for name in names.split()]
    sizes = SIZE_NAMES if struct == "mjModel" else []
    ours = [name for name in TABLES[struct] if name not in OWN_FIELDS and not name.startswith("contact_")]
    ours += [*sizes, *skipped]
    assert len(ours) == len(set(ours)), "a name occurs twice"
    theirs = {field.name for field in structs.STRUCTS[struct].fields}
    assert (sorted(theirs - set(ours)), sorted(set(ours) - theirs)) == ([], []), "(forgotten, unknown to MuJoCo)"


def test_sizes_are_mujocos_in_its_order_and_have_a_meaning():
    theirs = [field.name for field in structs.STRUCTS["mjModel"].fields if str(field.type) == "mjtSize"]
    assert SIZE_NAMES == [name for name in theirs if name in SIZE_NAMES]
    assert all(meaning for _, meaning in SIZES)


def test_own_fields_follow_mujocos_constants(compiled):
    _, model = compiled
    assert DATA_FIELDS["subtree_mass"].shape({"nbody": model.nbody}) == model.body_subtreemass.shape


def test_constant_dimensions_equal_mujocos():
    assert CONSTANT_DIMS == {name: getattr(mujoco, f"mj{name.upper()}") for name in CONSTANT_DIMS}


def _all_fields() -> list[tuple[str, Field]]:
    tables = {**TABLES, "work": WORK_FIELDS}
    return [(struct, field) for struct, table in tables.items() for field in table.values()]


def test_dimensions_are_sizes_constants_or_numbers():
    known = {*SIZE_NAMES, *CONSTANT_DIMS, *CAPACITIES}
    parts = [(s, f.name, n) for s, f in _all_fields() for dim in f.shape_names for n in dim.split("*")]
    assert not [part for part in parts if not part[2].isdigit() and part[2] not in known]


def test_units_stages_and_meanings():
    stages = {"mjData": DATA_STAGES, "work": DATA_STAGES}
    for struct, field in _all_fields():
        where = f"{struct}.{field.name}"
        assert field.unit in UNITS, f"{where}: unit {field.unit!r}"
        assert field.meaning.strip() == field.meaning != "", f"{where}: meaning {field.meaning!r}"
        assert set(field.stage.split("/")) <= stages.get(struct, MODEL_STAGES), f"{where}: stage {field.stage!r}"
        assert field.dtype in (REAL, FLOAT32) or field.unit == "1", f"{where}: an integer with unit {field.unit!r}"


def test_names_mean_one_thing_within_a_table():
    names = ("model_fields.py", "data_fields.py", "work_fields.py")
    files = [Path(__file__).parents[1] / "src" / "kinetree" / name for name in names]
    lines = [re.findall(r'(?:Field|Option|State|Input|Result|Note|Work)\("(\w+)"', file.read_text()) for file in files]
    assert len(lines[0]) == sum(map(len, (MODEL_FIELDS, PLUGIN_FIELDS, OPTION_FIELDS, STATISTIC_FIELDS)))
    assert len(lines[1]) == len(DATA_FIELDS) and len(lines[2]) == len(WORK_FIELDS)
    assert DATA_FIELDS.keys().isdisjoint(WORK_FIELDS), "kernels see both in one handle"
    assert DATA_FIELDS["capacity"].shape({}) == DATA_FIELDS["needed"].shape({}) == (len(CAPACITIES),)
    names = [*MODEL_FIELDS, *PLUGIN_FIELDS, *SIZE_NAMES]
    assert len(names) == len(set(names)), "a size and a field share a name"


def test_spatial_fields_name_their_reference_point():
    for name in ("cvel", "cacc", "cfrc_int", "cfrc_ext", "cinert", "crb", "cdof", "cdof_dot"):
        assert "xpos" in DATA_FIELDS[name].meaning and "world axes" in DATA_FIELDS[name].meaning, name
        if DATA_FIELDS[name].dims.endswith(" 6"):
            assert re.search(r"\[(angular; linear|torque; force)\]", DATA_FIELDS[name].meaning), name


def test_only_values_are_editable():
    """Compiled code follows ids, addresses, counts and types unchecked: of integers only masks and ranks may change."""
    harmless = ("_group", "_contype", "_conaffinity", "_priority")
    integers = [field for field in MODEL_FIELDS.values() if field.dtype in (INT, BYTE)]
    assert not [field.name for field in integers if field.in_place and not field.name.endswith(harmless)]
    assert all(field.writable for field in [*OPTION_FIELDS.values(), *STATISTIC_FIELDS.values()])
    user = {field.name for field in DATA_FIELDS.values() if field.stage == "user"}
    assert all(DATA_FIELDS[name].writable for name in user)
    assert not [field.name for field in DATA_FIELDS.values() if field.writable and field.dtype not in (REAL, FLAG)]


# what mj_setConst writes


def _mj_set_const() -> tuple[set[str], set[str]]:
    """Arrays and scalars that MuJoCo's header says mj_setConst derives, and those it reads and then completes."""
    header = (Path(mujoco.HEADERS_DIR) / "mjxmacro.h").read_text()
    arrays = header.split("#define MJSETCONST_ARRAYS")[1].split("\n\n")[0]
    rows = [re.findall(r"\w+", row) for row in re.findall(r"X\(([^)]*)\)", arrays)]
    first_use = {name: next(use for use in uses if use != "0") for name, *uses in rows}
    scalars = re.findall(r"X\( *(\w+)", header.split("#define MJSETCONST_SCALARS")[1].split("\n\n")[0])
    derived = {name for name, use in first_use.items() if use == "mjSC_OUT"} | set(scalars)
    return derived, {name for name, use in first_use.items() if use == "mjSC_INOUT"}


def test_set_const_fields_are_those_of_mujocos_header():
    derived, completed = _mj_set_const()
    ours = {field.name for field in MODEL_FIELDS.values() if field.stage == "set_const"}
    assert ours == derived & set(MODEL_FIELDS)
    assert completed == {"geom_size", "geom_aabb", "geom_fluid", "eq_data", "tree_sleep_policy"}


def _derived_rows(model: mujoco.MjModel, name: str) -> np.ndarray | slice:
    """Rows of a derived field that mj_setConst writes: what belongs to meshes it keeps as compiled."""
    if name == "geom_rbound":
        return model.geom_type != mujoco.mjtGeom.mjGEOM_MESH
    return slice(model.body_bvhnum.sum()) if name == "bvh_aabb" else slice(None)


@pytest.mark.parametrize("label", ["rich", "humanoid", "manipulator"])
def test_mj_setconst_restores_set_const_fields_and_leaves_loaded_ones(label):
    _, completed = _mj_set_const()
    reference, wrong = MODELS[label](), []
    data = mujoco.MjData(reference)
    for name, field in MODEL_FIELDS.items():
        if field.dtype != REAL or name in completed or not getattr(reference, name).size:
            continue
        model = copy.copy(reference)
        array = getattr(model, name)
        derived = field.stage == "set_const"
        if derived:
            array[_derived_rows(model, name)] = 0.123
        else:
            array *= 1 + 1e-7  # too little to change which frames coincide
        expected = getattr(reference, name) if derived else array.copy()
        mujoco.mj_setConst(model, data)
        if not np.allclose(array, expected, rtol=1e-12, atol=1e-12 if derived else 0.0):
            at = np.unravel_index(np.argmax(np.abs(array - expected)), array.shape)
            wrong.append((label, name, field.stage, at, array[at], expected[at]))
    for name in STATISTIC_FIELDS:
        model = copy.copy(reference)
        value = np.asarray(getattr(model.stat, name)) * 1.5 + 1.0
        setattr(model.stat, name, value if value.ndim else value.item())
        mujoco.mj_setConst(model, data)
        if not np.array_equal(getattr(model.stat, name), value):
            wrong.append((label, "stat", name, getattr(model.stat, name), value))
    assert not wrong


# the state


def test_state_fields_are_the_bits_of_mjtstate():
    bits = [name.removeprefix("mjSTATE_") for name, bit in mujoco.mjtState.__members__.items() if name != "mjNSTATE"]
    assert [bit for bit, _ in STATE_FIELDS] == bits[: mujoco.mjtState.mjNSTATE.value]
    assert [bit for bit, name in STATE_FIELDS if not name] == ["PLUGIN"]
    users = {f.name for f in DATA_FIELDS.values() if f.stage == "user"}
    assert {name for _, name in STATE_FIELDS if name} == users - {"aba_force", "aba_diagonal"}, (
        "these are for one function"
    )


def test_state_fields_hold_what_mj_getstate_returns(compiled):
    label, model = compiled
    data, rng = mujoco.MjData(model), np.random.default_rng(7)
    for i, (bit, name) in enumerate(STATE_FIELDS):
        state = np.zeros(mujoco.mj_stateSize(model, 1 << i))
        if not name:
            assert state.size == 0, (label, bit)
        elif not DATA_FIELDS[name].dims:
            setattr(data, name, 0.5 + i)
            mujoco.mj_getState(model, data, state, 1 << i)
            assert state.tolist() == [0.5 + i], (label, bit, name)
        else:
            array = getattr(data, name)
            array[...] = rng.uniform(size=array.shape) > 0.5 if array.dtype == bool else rng.normal(size=array.shape)
            mujoco.mj_getState(model, data, state, 1 << i)
            assert np.array_equal(state, array.ravel()), (label, bit, name)
