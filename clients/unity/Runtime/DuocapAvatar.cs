// Put this on a GameObject with an Animator whose avatar is humanoid.
using System;
using System.Collections.Generic;
using UnityEngine;

namespace Duocap
{
    [RequireComponent(typeof(Animator))]
    public sealed class DuocapAvatar : MonoBehaviour
    {
        [SerializeField] string address = "tcp://127.0.0.1:5570";
        [SerializeField] bool moveHips = true;

        StreamClient client;
        Skeleton bound;
        Transform[] bones;
        Quaternion[] rest;
        Quat[] rotations;
        Vec3[] places;
        float scale = 1;

        void OnEnable() { client = new StreamClient(address); }

        void OnDisable()
        {
            client.Dispose();
            NetMQ.NetMQConfig.Cleanup(false); // or the editor hangs when play mode ends
        }

        void LateUpdate()
        {
            Skeleton skeleton;
            Pose pose;
            if (!client.TryTake(out skeleton, out pose) || pose.State == "lost") return;
            if (bound == null || bound.Hash != skeleton.Hash) Bind(skeleton);
            Kinematics.Globals(skeleton, pose, rotations, places);
            for (int j = 0; j < bones.Length; j++) // parents come first, so that children are not moved again
                if (bones[j] != null) bones[j].rotation = transform.rotation * ToUnity(rotations[j]) * rest[j];
            if (moveHips && bones[0] != null) bones[0].position = transform.TransformPoint(ToUnity(places[0]) * scale);
        }

        /// Find the bone of every joint and its orientation in the avatar's own T-pose: rest pose to rest pose.
        void Bind(Skeleton skeleton)
        {
            var animator = GetComponent<Animator>();
            if (animator.avatar == null || !animator.avatar.isHuman)
                throw new InvalidOperationException(name + ": the avatar is not humanoid; set Rig, Animation Type, Humanoid in its import settings");
            var tpose = new Dictionary<string, SkeletonBone>();
            foreach (var bone in animator.avatar.humanDescription.skeleton) tpose[bone.name] = bone;
            int count = skeleton.Names.Count;
            bones = new Transform[count];
            rest = new Quaternion[count];
            rotations = new Quat[count];
            places = new Vec3[count];
            float hips = 0, foot = 0;
            for (int j = 0; j < count; j++)
            {
                string vrm;
                HumanBodyBones human;
                if (!skeleton.Humanoid.TryGetValue(skeleton.Names[j], out vrm) || !Enum.TryParse(vrm, true, out human)) continue;
                bones[j] = animator.GetBoneTransform(human);
                if (bones[j] == null) continue;
                Vector3 place = Rest(bones[j], tpose, out rest[j]);
                if (j == 0) hips = place.y;
                if (Kinematics.IsLeftFoot(skeleton, j)) foot = place.y;
            }
            scale = Mathf.Max(0.1f, hips - foot) / Mathf.Max(0.1f, Kinematics.HipsHeight(skeleton));
            bound = skeleton;
        }

        /// Place and orientation of a bone in the avatar's T-pose, relative to this object.
        Vector3 Rest(Transform bone, Dictionary<string, SkeletonBone> tpose, out Quaternion rotation)
        {
            Vector3 place = Vector3.zero;
            rotation = Quaternion.identity;
            for (Transform t = bone; t != null && t != transform; t = t.parent)
            {
                SkeletonBone known;
                bool isKnown = tpose.TryGetValue(t.name, out known);
                Quaternion turn = isKnown ? known.rotation : t.localRotation;
                place = (isKnown ? known.position : t.localPosition) + turn * Vector3.Scale(isKnown ? known.scale : t.localScale, place);
                rotation = turn * rotation;
            }
            return place;
        }

        static Quaternion ToUnity(Quat q) { return new Quaternion(q.X, q.Y, q.Z, q.W); }
        static Vector3 ToUnity(Vec3 v) { return new Vector3(v.X, v.Y, v.Z); }
    }
}
